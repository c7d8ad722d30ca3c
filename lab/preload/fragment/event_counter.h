// Counts one kind of event of the calling thread in user mode, by the kernel's perf events.
//
// The lab counts the same event from outside over the whole program, and subtracts the littering's share. No
// descriptor stays open.
#pragma once

#include <cstdint>

#include "reap_litter.h"

namespace reap::preload {

class EventCounter {
  public:
    // Starts counting the event that the header requests, if any.
    explicit EventCounter(const reap_litter_header &header) noexcept;
    ~EventCounter();
    EventCounter(const EventCounter &) = delete;
    EventCounter &operator=(const EventCounter &) = delete;

    // The count; REAP_LITTER_UNCOUNTED if the kernel or the CPU does not support the event, or if the counter
    // was multiplexed.
    [[nodiscard]] uint64_t events() const noexcept;

  private:
    int descriptor_ = -1;
};

} // namespace reap::preload
