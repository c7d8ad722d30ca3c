// Counts one kind of event of the calling thread in user mode, by the kernel's perf events.
//
// For the lab counts the same from outside, over the whole program: what the littering caused is then taken
// off. No descriptor stays open.
#pragma once

#include <cstdint>

#include "reap_litter.h"

namespace reap::preload {

class EventCounter {
  public:
    // Counts from now on what the header asks for, if it asks for anything.
    explicit EventCounter(const reap_litter_header &header) noexcept;
    ~EventCounter();
    EventCounter(const EventCounter &) = delete;
    EventCounter &operator=(const EventCounter &) = delete;

    // How many there were; REAP_LITTER_UNCOUNTED where the kernel or the processor does not count them, or
    // where others had the processor's counters for a part of the time.
    [[nodiscard]] uint64_t events() const noexcept;

  private:
    int descriptor_ = -1;
};

} // namespace reap::preload
