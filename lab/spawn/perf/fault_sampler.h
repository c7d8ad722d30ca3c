/* Samples page faults: which code first touches which page.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_FAULT_SAMPLER_H
#define REAP_SPAWN_FAULT_SAMPLER_H

#include <sys/types.h>

#include "perf/rings.h"
#include "trace/block.h"

namespace reap::spawn {

/// Records one in `period` of each thread's page faults, with its address and the code that caused it.
class FaultSampler {
  public:
    /// A prime, so that it does not alias with loops. At half a million faults a second, the maximum of a
    /// CPU, these are some ten thousand records.
    static constexpr std::uint64_t period = 31;

    /// As PerfSampler::attach.
    bool attach(pid_t thread, bool running);
    void drain(TraceBlocks &trace);
    std::uint64_t lost() const { return rings_.lost(); }

  private:
    PerfRings rings_;
};

} // namespace reap::spawn

#endif
