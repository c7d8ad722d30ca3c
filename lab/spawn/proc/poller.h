/* Polls a process tree many times a second: what its threads wait for, and its memory.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_POLLER_H
#define REAP_SPAWN_POLLER_H

#include <sys/types.h>

#include <cstdint>

#include "clock.h"
#include "trace/block.h"

namespace reap::spawn {

/// Reads /proc, so the program is not modified. A poll costs about ten microseconds per thread; threads and
/// processes beyond a fixed number are skipped.
class TreePoller {
  public:
    /// Polls `process` and its descendants; if `process` is this process, the descendants only.
    void poll(pid_t process, std::int64_t now, TraceBlocks &trace);

    /// The last poll, which always includes memory.
    void poll_last(pid_t process, std::int64_t now, TraceBlocks &trace) {
        next_memory_ = 0;
        poll(process, now, trace);
    }

    /// When the next poll is due: about a hundred times a second, at irregular intervals.
    std::int64_t next() const { return next_; }

  private:
    void poll_process(pid_t process, int depth);
    void poll_thread(pid_t process, pid_t thread);
    void poll_memory(pid_t process);
    void record_mapping(pid_t process, char *line);

    TraceBlocks *trace_ = nullptr;
    std::int64_t now_ = 0;
    std::int64_t next_ = 0;
    std::int64_t next_memory_ = 0;
    std::int64_t first_memory_poll_ = 0;
    bool with_memory_ = false;
    std::uint64_t processes_ = 0;
    std::uint64_t threads_ = 0;
    pid_t sockets_of_ = 0; ///< the process that `sockets_` is about, in this poll
    bool sockets_ = false;
    std::uint32_t random_ = 1;
};

} // namespace reap::spawn

#endif
