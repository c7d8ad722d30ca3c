/* Watching system calls: how often, and who makes them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_CALL_WATCHER_H
#define REAP_SPAWN_CALL_WATCHER_H

#include <sys/types.h>

#include "perf/rings.h"
#include "trace/block.h"

namespace reap::spawn {

/// Every brk, mmap, munmap, mremap, madvise and futex, every connection accepted and every read from a
/// socket, by the kernel's tracepoints. It needs tracefs and the right to use tracepoints.
class CallWatcher {
  public:
    /// As PerfSampler's.
    bool attach(pid_t thread, bool running);
    void drain(TraceBlocks &trace);
    std::uint64_t lost() const { return rings_.lost(); }

    /// Of larger descriptors it is not remembered whether they were accepted.
    static constexpr std::uint64_t most_descriptors = 65536;

  private:
    PerfRings rings_;
    bool accepted_[most_descriptors] = {}; ///< a process's descriptor of this number was a connection
    bool has_connections_ = false;         ///< one was accepted, or may have been before the watching
};

} // namespace reap::spawn

#endif
