/* Counts a CPU event of a program: cache misses, instructions.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_EVENT_COUNTER_H
#define REAP_SPAWN_EVENT_COUNTER_H

#include <cstdint>

#include "observe/observer.h"

namespace reap::spawn {

/// One kind of event, as in perf_event_attr.
struct Event {
    std::uint32_t type = 0;
    std::uint64_t config = 0;
};

/// Counts one kind of event in user mode, over the program, its threads, and the children that end before it.
class EventCounter final : public Observer {
  public:
    static constexpr std::int64_t uncounted = -1;

    explicit EventCounter(Event event) : event_(event) {}

    bool attach(pid_t child) override;
    void detach() override;

    /// The count, once the program has ended; `uncounted` if the kernel or the CPU does not support the
    /// event, or if the counter was multiplexed.
    std::int64_t events() const { return events_; }

  private:
    Event event_;
    int fd_ = -1;
    std::int64_t events_ = uncounted;
};

} // namespace reap::spawn

#endif
