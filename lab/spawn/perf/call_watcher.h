/* Watches system calls: how often they are made, and from where.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_CALL_WATCHER_H
#define REAP_SPAWN_CALL_WATCHER_H

#include <sys/types.h>

#include "perf/rings.h"
#include "trace/block.h"

namespace reap::spawn {

/// Records every brk, mmap, munmap, mremap, madvise and futex, every accepted connection and every read from
/// a socket. Requires tracefs and permission to use tracepoints.
class CallWatcher {
  public:
    /// As PerfSampler::attach.
    bool attach(pid_t thread, bool running);
    void drain(TraceBlocks &trace);
    std::uint64_t lost() const { return rings_.lost(); }

    /// For larger descriptors it is not tracked whether they were accepted.
    static constexpr std::uint64_t max_descriptors = 65536;

  private:
    PerfRings rings_;
    bool accepted_[max_descriptors] = {}; ///< a process accepted a connection under this number
    bool has_connections_ = false;        ///< one was accepted, or may have been before watching began
};

} // namespace reap::spawn

#endif
