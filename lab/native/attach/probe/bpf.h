// Maps and programs of BPF, and memory shared with them.
#pragma once

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <linux/bpf.h>
#include <vector>

#include "attach/failure.h"

namespace reap::native {

// The system call.
int bpf(bpf_cmd command, bpf_attr &attributes) noexcept;

// A descriptor. Throws AttachFailure.
int make_map(bpf_map_type type, uint32_t key, uint32_t value, uint32_t entries, uint32_t flags);

// A descriptor, or -1 with errno.
int load_program(bpf_prog_type type, const std::vector<bpf_insn> &code) noexcept;

// Throws AttachFailure.
template <class Memory>
Memory *map_memory(int descriptor, size_t length, int protection, size_t offset) {
    void *memory = ::mmap(nullptr, length, protection, MAP_SHARED, descriptor, static_cast<off_t>(offset));
    if (memory == MAP_FAILED) throw AttachFailure("bpf", errno);
    return static_cast<Memory *>(memory);
}

} // namespace reap::native
