/* Samples where a program spends its CPU time, by the kernel's perf events.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_PERF_SAMPLER_H
#define REAP_SPAWN_PERF_SAMPLER_H

#include <sys/types.h>

#include <cstdint>

#include "perf/rings.h"
#include "trace/block.h"

namespace reap::spawn {

/// One software clock per CPU. A sample in the kernel also has the user-mode instruction pointer, which shows
/// on whose behalf the kernel works, and a few words of the user stack, because system calls are made by
/// small wrappers and the caller is what matters.
class PerfSampler {
  public:
    struct How {
        std::uint32_t period_us = 1000;
        bool running = false; ///< the threads already run; else sampling starts at the child's exec
        bool callers = false; ///< also record the callers, as far as frame pointers reach
    };

    /// Attaches to one thread; may be called for several. False with errno set if this machine does not allow
    /// it.
    bool attach(pid_t thread, How how);

    /// Whether the kernel is sampled too.
    bool sees_kernel() const { return sees_kernel_; }

    /// Moves the records from the kernel's ring buffers into the trace.
    void drain(TraceBlocks &trace);

    std::uint64_t lost() const { return rings_.lost(); }

  private:
    int open(pid_t thread, How how);

    PerfRings rings_;
    How how_;
    bool sees_kernel_ = true;
};

} // namespace reap::spawn

#endif
