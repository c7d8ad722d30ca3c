/* Sampling where a program's processor time goes, through the kernel's perf events.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_PERF_SAMPLER_H
#define REAP_SPAWN_PERF_SAMPLER_H

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "trace_block.h"

namespace reap::spawn {

/// One software clock on each processor, inherited by all threads and children of the program. Only the
/// user's instruction pointer is kept, for samples in the kernel too: it says on whose behalf the kernel
/// worked. Of those a few words of the user's stack are kept as well, because system calls are made through
/// small wrappers and the caller is what matters.
class PerfSampler {
  public:
    PerfSampler() = default;
    ~PerfSampler();
    PerfSampler(const PerfSampler &) = delete;
    PerfSampler &operator=(const PerfSampler &) = delete;

    /// Attaches to a process that has not executed its program yet; sampling starts when it does. False with
    /// errno when this machine does not allow it.
    bool attach(pid_t child, std::uint32_t period_us);

    /// Whether samples in the kernel are taken, too.
    bool sees_kernel() const { return sees_kernel_; }

    /// Moves what the kernel has collected into the trace.
    void drain(TraceBlocks &trace);

  private:
    static constexpr int most_processors = 512;
    static constexpr std::size_t ring_pages = 64;

    struct Ring {
        int fd = -1;
        void *memory = nullptr;
    };

    /// 0, or the errno for which it did not open.
    int open(pid_t child, int processor, std::uint32_t period_us, bool kernel, Ring &ring) const;
    void drain(Ring &ring, TraceBlocks &trace);
    static void handle(const unsigned char *record, std::size_t size, TraceBlocks &trace);

    Ring rings_[most_processors];
    int count_ = 0;
    bool sees_kernel_ = false;
};

} // namespace reap::spawn

#endif
