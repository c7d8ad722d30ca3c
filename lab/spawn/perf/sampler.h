/* Sampling where a program's CPU time goes, through the kernel's perf events.
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

/// One software clock on each processor. Of samples in the kernel the user's instruction pointer is kept,
/// too: it says on whose behalf the kernel worked; and a few words of the user's stack, because system calls
/// are made through small wrappers and the caller is what matters.
class PerfSampler {
  public:
    struct How {
        std::uint32_t period_us = 1000;
        bool running = false; ///< the threads run already; else sampling starts when the child executes
        bool callers = false; ///< also keep the callers, as far as frame pointers tell them
    };

    /// Attaches to one thread; a further call to another one. False with errno when this machine does not
    /// allow it.
    bool attach(pid_t thread, How how);

    /// Whether samples in the kernel are taken, too.
    bool sees_kernel() const { return sees_kernel_; }

    /// Moves what the kernel has collected into the trace.
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
