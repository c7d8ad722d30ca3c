/* Sampling page faults: who touches which page first.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_FAULT_SAMPLER_H
#define REAP_SPAWN_FAULT_SAMPLER_H

#include <sys/types.h>

#include "perf/rings.h"
#include "trace/block.h"

namespace reap::spawn {

/// Of each thread's page faults one in `period`, with its address and the code that made it.
class FaultSampler {
  public:
    /// A prime, so that it falls into step with no loop; at the most faults that a processor can serve
    /// (half a million a second) some ten thousand records.
    static constexpr std::uint64_t period = 31;

    /// As PerfSampler's.
    bool attach(pid_t thread, bool running);
    void drain(TraceBlocks &trace);
    std::uint64_t lost() const { return rings_.lost(); }

  private:
    PerfRings rings_;
};

} // namespace reap::spawn

#endif
