/* Keeps the newest part of a trace.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_TRACE_RING_H
#define REAP_SPAWN_TRACE_RING_H

#include <cstdint>

#include "trace/block.h"

namespace reap::spawn {

/// Gives the space of old blocks of events and samples back to the file system, as the header's `part` asks
/// for: by time, or when there are too many. A returned block reads as zeros, as one that was never used.
class TraceRing {
  public:
    /// Some microseconds for each block that is returned.
    void tick(TraceBlocks &trace);

  private:
    enum class Verdict : std::uint8_t {
        Stays, ///< for good
        Open,  ///< may still be written to
        Young,
        Old
    };

    /// A block that may still be written to.
    struct Open {
        std::uint64_t index;
        std::uint64_t ended; // ticks: when its process was found dead; 0: it lives
    };

    bool too_many(const TraceBlocks &trace) const;
    Verdict judge(const TraceBlocks &trace, std::uint64_t index, reap_block_header &head) const;
    bool look_at(TraceBlocks &trace, std::uint64_t index);
    void look_at_open(TraceBlocks &trace);
    void drop(TraceBlocks &trace, std::uint64_t index, const reap_block_header &head, std::uint64_t last);
    static std::uint64_t keep_facts(const TraceBlocks &trace, std::uint64_t index, reap_block_header head);

    static constexpr int max_open = 4096;
    Open open_[max_open] = {};
    int open_count_ = 0;
    int next_open_ = 0;         ///< the one to look at next
    std::uint64_t next_ = 1;    ///< the first block that was not looked at
    std::uint64_t dropped_ = 0; ///< how many blocks were returned
    std::uint64_t now_ = 0;     ///< ticks, as `until_`
    std::uint64_t until_ = 0;   ///< what ended by then is old
    bool refused_ = false;      ///< the file system gives nothing back
};

} // namespace reap::spawn

#endif
