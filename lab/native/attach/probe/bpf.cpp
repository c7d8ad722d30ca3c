#include "attach/probe/bpf.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "attach/probe/program.h"

namespace reap::native {

int bpf(bpf_cmd command, bpf_attr &attributes) noexcept {
    return static_cast<int>(syscall(SYS_bpf, command, &attributes, sizeof attributes));
}

int make_map(bpf_map_type type, uint32_t key, uint32_t value, uint32_t entries, uint32_t flags) {
    bpf_attr attributes{};
    attributes.map_type = type;
    attributes.key_size = key;
    attributes.value_size = value;
    attributes.max_entries = entries;
    attributes.map_flags = flags;
    const int map = bpf(BPF_MAP_CREATE, attributes);
    if (map < 0) throw AttachFailure("bpf", errno);
    return map;
}

int load_program(bpf_prog_type type, const std::vector<bpf_insn> &code) noexcept {
    bpf_attr attributes{};
    attributes.prog_type = type;
    attributes.insns = reinterpret_cast<uint64_t>(code.data());
    attributes.insn_cnt = static_cast<uint32_t>(code.size());
    attributes.license = reinterpret_cast<uint64_t>("Dual MIT/GPL");
    // Probes' programs need it; for an event it makes no difference.
    if (type == BPF_PROG_TYPE_KPROBE) attributes.expected_attach_type = kUprobeMulti;
    return bpf(BPF_PROG_LOAD, attributes);
}

} // namespace reap::native
