// SPDX-License-Identifier: MIT
#include "program/slice.h"

#include <cstdint>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace reap::spawn {
namespace {

constexpr std::uint64_t slice_ns = 12'000'000;

/// The kernel's struct sched_attr, as all versions have it; C libraries before glibc 2.41 lack it.
struct Attributes {
    std::uint32_t size;
    std::uint32_t policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime; ///< of the default policy: the slice
    std::uint64_t deadline;
    std::uint64_t period;
};

} // namespace

void lengthen_slice() {
    Attributes own{};
    if (syscall(SYS_sched_getattr, 0, &own, sizeof own, 0) != 0 || own.policy != SCHED_OTHER) return;
    own.runtime = slice_ns;
    (void)syscall(SYS_sched_setattr, 0, &own, 0);
}

} // namespace reap::spawn
