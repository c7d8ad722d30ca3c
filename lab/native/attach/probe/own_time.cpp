#include "attach/probe/own_time.h"

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <set>
#include <string>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>

#include "attach/failure.h"
#include "attach/probe/assembler.h"
#include "attach/probe/bpf.h"
#include "attach/process/mappings.h"

namespace reap::native {
namespace {

constexpr size_t kCounts = 4096;        // a page
constexpr uint64_t kPeriod = 1'997'000; // ns of CPU time between samples
constexpr size_t kMostThreads = 128;    // a descriptor each
constexpr uint32_t kUserSide = 1 << 8;  // BPF_F_USER_STACK

// The page from which the kernel steps instructions that it does not emulate: the last of user space, whether
// tables of pages have four levels or five, unless the stack is there.
constexpr uint64_t kStepped = 0x7fff'ffff'e000;

// Counts a sample, as the process's own unless its user code stands at one of the addresses.
std::vector<bpf_insn> assemble_own_time(int counts, const std::vector<AddressRange> &probed) {
    constexpr uint8_t shared = BPF_REG_7;
    constexpr int32_t below = -static_cast<int32_t>(sizeof(uint64_t));
    Assembler out;
    Assembler::Label end;
    out.move(BPF_REG_6, BPF_REG_1);
    out.map(shared, counts, true);
    out.move(BPF_REG_1, BPF_REG_6);
    out.move(BPF_REG_2, BPF_REG_10);
    out.plus(BPF_REG_2, below);
    out.set(BPF_REG_3, sizeof(uint64_t));
    out.set(BPF_REG_4, kUserSide);
    out.call(BPF_FUNC_get_stack); // its first frame is where user code stands, also from within the kernel
    out.jump_if(BPF_JNE, BPF_REG_0, end, sizeof(uint64_t));
    out.increment(shared, offsetof(OwnTime::Count, all));
    out.load(BPF_REG_2, BPF_REG_10, static_cast<size_t>(below));
    for (const AddressRange &range : probed) {
        out.move(BPF_REG_1, BPF_REG_2);
        out.constant(BPF_REG_3, range.begin);
        out.operate(BPF_SUB, BPF_REG_1, BPF_REG_3);
        out.constant(BPF_REG_3, range.end - range.begin);
        out.jump_if_pair(BPF_JLT, BPF_REG_1, BPF_REG_3, end);
    }
    out.constant(BPF_REG_3, kStepped);
    out.jump_if_pair(BPF_JGE, BPF_REG_2, BPF_REG_3, end);
    out.increment(shared, offsetof(OwnTime::Count, own));
    out.here(end);
    out.set(BPF_REG_0, 0);
    out.exit();
    return out.take();
}

// Opens a timer of a thread's CPU time, which threads that it makes inherit, and processes do not.
int open_timer(pid_t thread) {
    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = PERF_COUNT_SW_CPU_CLOCK;
    attributes.sample_period = kPeriod;
    attributes.disabled = 1;
    attributes.inherit = 1;
    attributes.inherit_thread = 1; // since Linux 5.13
    return static_cast<int>(syscall(SYS_perf_event_open, &attributes, thread, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

} // namespace

OwnTime::OwnTime(pid_t process, const std::vector<AddressRange> &probed) {
    try {
        open(process, probed);
    } catch (const AttachFailure &) {
        events_.clear();
    }
}

void OwnTime::open(pid_t process, const std::vector<AddressRange> &probed) {
    if (stack_end(process) > kStepped) throw AttachFailure("perf", ENOTSUP);
    const Descriptor map(make_map(BPF_MAP_TYPE_ARRAY, sizeof(uint32_t), sizeof(Count), 1, BPF_F_MMAPABLE));
    counts_ = map_memory<Count>(map.get(), kCounts, PROT_READ | PROT_WRITE, 0);
    const Descriptor program(load_program(BPF_PROG_TYPE_PERF_EVENT, assemble_own_time(map.get(), probed)));
    if (program.get() < 0) throw AttachFailure("bpf", errno);
    std::set<pid_t> known;
    const std::filesystem::path folder = "/proc/" + std::to_string(process) + "/task";
    // Looks again until it finds none: one that is not known yet may make others.
    for (bool found = true; found;) {
        found = false;
        std::error_code gone;
        for (std::filesystem::directory_iterator each(folder, gone), end; !gone && each != end;
             each.increment(gone)) {
            const auto thread = static_cast<pid_t>(std::strtol(each->path().filename().c_str(), nullptr, 10));
            if (!known.insert(thread).second) continue;
            if (known.size() > kMostThreads) throw AttachFailure("perf", EMFILE);
            found = true;
            const Descriptor &timer = events_.emplace_back(open_timer(thread));
            if (timer.get() < 0 && errno == ESRCH) continue;
            if (timer.get() < 0 || ::ioctl(timer.get(), PERF_EVENT_IOC_SET_BPF, program.get()) != 0)
                throw AttachFailure("perf", errno);
        }
    }
}

OwnTime::~OwnTime() {
    if (counts_ != nullptr) ::munmap(counts_, kCounts);
}

void OwnTime::count(bool on) const noexcept {
    for (const Descriptor &event : events_)
        (void)::ioctl(event.get(), on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

OwnTime::Count OwnTime::counted() const noexcept {
    if (counts_ == nullptr) return {};
    return {__atomic_load_n(&counts_->all, __ATOMIC_RELAXED),
            __atomic_load_n(&counts_->own, __ATOMIC_RELAXED)};
}

} // namespace reap::native
