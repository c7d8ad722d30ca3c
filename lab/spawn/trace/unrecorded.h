/* Processes of the tree that are not recorded.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_UNRECORDED_H
#define REAP_SPAWN_UNRECORDED_H

#include <sys/types.h>

#include <cstdint>

#include "trace/block.h"

namespace reap::spawn {

/// Finds the processes that have not mapped the trace, and writes their names into it. A process is checked
/// when it is found a second time with the same executable, so that it has had the time to map the trace.
/// Processes that end earlier are missed.
class Unrecorded {
  public:
    /// Checks the launcher's descendants, up to a fixed number of them.
    void poll(std::int64_t now, TraceBlocks &trace);

  private:
    struct Known {
        pid_t pid;
        std::uint64_t program; // device and inode, mixed
        bool judged;
    };
    static constexpr int max_known = 1024; ///< processes that are remembered at once

    void check_children(pid_t parent, int depth, std::int64_t now, TraceBlocks &trace);
    void check(pid_t process, std::int64_t now, TraceBlocks &trace);
    Known &find(pid_t process);

    Known known_[max_known] = {};
    int checked_ = 0;
};

} // namespace reap::spawn

#endif
