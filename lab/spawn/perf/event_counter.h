/* Counting what happens in a program's processors: cache misses, instructions.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_EVENT_COUNTER_H
#define REAP_SPAWN_EVENT_COUNTER_H

#include <cstdint>

#include "observe/observer.h"

namespace reap::spawn {

/// One kind of event, named as perf_event_attr does.
struct Event {
    std::uint32_t type = 0;
    std::uint64_t config = 0;
};

/// Counts one kind of event in user mode, over the program, its threads, and the children that have ended
/// before it does.
class EventCounter final : public Observer {
  public:
    static constexpr std::int64_t uncounted = -1;

    explicit EventCounter(Event event) : event_(event) {}

    bool attach(pid_t child) override;
    void detach() override;

    /// How many there were, once the program has ended; `uncounted` where the kernel or the processor does
    /// not count them, or where others had the processor's counters for a part of the time.
    std::int64_t events() const { return events_; }

  private:
    Event event_;
    int fd_ = -1;
    std::int64_t events_ = uncounted;
};

} // namespace reap::spawn

#endif
