/* Looking at a tree of processes many times a second: what its threads wait for, what memory it holds.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_LOOKER_H
#define REAP_SPAWN_LOOKER_H

#include <sys/types.h>

#include <cstdint>

#include "clock.h"
#include "trace/block.h"

namespace reap::spawn {

/// Reads /proc, so that nothing needs to be allowed and nothing is added to the program. Each look costs some
/// ten microseconds a thread; of very many, those behind the first are not looked at.
class Looker {
  public:
    /// Looks at `process` and its descendants, or, where that is this process itself, at the descendants.
    void look(pid_t process, std::int64_t now, TraceBlocks &trace);

    /// The last look, at memory too.
    void look_once_more(pid_t process, std::int64_t now, TraceBlocks &trace) {
        next_memory_ = 0;
        look(process, now, trace);
    }

    /// When it wants to look again: about a hundred times a second, at no regular beat.
    std::int64_t next() const { return next_; }

  private:
    void look_at(pid_t process, int depth);
    void look_at_thread(pid_t process, pid_t thread);
    void look_at_memory(pid_t process);
    void look_at_mapping(pid_t process, char *line);

    TraceBlocks *trace_ = nullptr;
    std::int64_t now_ = 0;
    std::int64_t next_ = 0;
    std::int64_t next_memory_ = 0;
    std::int64_t first_look_ = 0;
    bool with_memory_ = false;
    std::uint64_t processes_ = 0;
    std::uint64_t threads_ = 0;
    pid_t sockets_of_ = 0; ///< whose descriptors were looked through in this look
    bool sockets_ = false;
    std::uint32_t random_ = 1;
};

} // namespace reap::spawn

#endif
