/* Processes of the tree of which nothing is recorded.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_UNRECORDED_H
#define REAP_SPAWN_UNRECORDED_H

#include <sys/types.h>

#include <cstdint>

#include "trace/block.h"

namespace reap::spawn {

/// Finds the processes that have not mapped the trace, and writes their names into it. A process is judged
/// when it is met a second time as the same program, so that one that starts just then has mapped it; shorter
/// ones are not seen.
class Unrecorded {
  public:
    /// Looks through the launcher's descendants, of very many the first.
    void look(std::int64_t now, TraceBlocks &trace);

  private:
    struct Known {
        pid_t pid;
        std::uint64_t program; // device and inode, mixed
        bool judged;
    };
    static constexpr int most = 1024; ///< processes that are remembered

    void look_below(pid_t parent, int depth, std::int64_t now, TraceBlocks &trace);
    void look_at(pid_t process, std::int64_t now, TraceBlocks &trace);
    Known &find(pid_t process);

    Known known_[most] = {};
    int looked_ = 0;
};

} // namespace reap::spawn

#endif
