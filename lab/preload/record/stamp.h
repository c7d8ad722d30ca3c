// The timestamp of an event, in ticks of the clock that the trace's header names.
#pragma once

#include <cstdint>
#include <ctime>

#include "reap_ticks.h"
#include "reap_trace.h"

namespace reap::preload {

// The counter takes about 8 ns, clock_gettime about 20; the creator of the trace chooses the clock.
inline uint64_t stamp(uint32_t clock) noexcept {
    if (clock == REAP_CLOCK_TSC) return reap_ticks_after();
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

} // namespace reap::preload
