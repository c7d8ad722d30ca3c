/* Samples where a program spends its CPU time, by the kernel's perf events.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_PERF_SAMPLER_H
#define REAP_SPAWN_PERF_SAMPLER_H

#include <sys/types.h>

#include <cstdint>

#include "perf/known_processes.h"
#include "perf/rings.h"
#include "trace/block.h"

namespace reap::spawn {

/// One software clock per CPU. A sample in the kernel also has the user-mode instruction pointer, which shows
/// on whose behalf the kernel works, and a few words of the user stack, because system calls are made by
/// small wrappers and the caller is what matters.
///
/// The clock is of each thread and inherited, which costs some 30 us for each thread or process that begins,
/// and none shows up that ends within a period. So once many begin, the CPUs are sampled as a whole where
/// that is allowed (to root, or with CAP_PERFMON), and what is of other processes is dropped: their begin
/// costs nothing then, and short ones are sampled as often as they run. Not from the start, as it interrupts
/// idle CPUs, too.
class PerfSampler {
  public:
    struct How {
        std::uint32_t period_us = 1000;
        bool running = false; ///< the threads already run; else sampling starts at the child's exec
        bool callers = false; ///< also record the callers, as far as frame pointers reach
        bool tree = false;    ///< of one program and all that it starts; may turn to sampling whole CPUs
    };

    /// Attaches to one thread; may be called for several. False with errno set if this machine does not allow
    /// it.
    bool attach(pid_t thread, How how);

    /// Whether the kernel is sampled too.
    bool sees_kernel() const { return sees_kernel_; }

    /// Moves the records from the kernel's ring buffers into the trace.
    void drain(TraceBlocks &trace);

    std::uint64_t lost() const { return rings_.lost() + cpus_.lost(); }

  private:
    perf_event_attr attributes_for(How how) const;
    bool many_begin(int begun, int processes);
    void turn_to_cpus(TraceBlocks &trace);

    PerfRings rings_; ///< of threads
    PerfRings cpus_;  ///< of whole CPUs
    KnownProcesses tree_;
    How how_;
    bool sees_kernel_ = true;
    std::int64_t drained_ = 0;
    int with_many_ = 0;       ///< drains in a row in which many have begun
    std::int64_t turned_ = 0; ///< samples of CPUs count from here on
};

} // namespace reap::spawn

#endif
