// The timestamp of an event, in ticks of the clock that the trace's header names.
#pragma once

#include <cstdint>
#include <ctime>
#include <x86intrin.h>

#include "reap_trace.h"

namespace reap::preload {

// rdtsc takes about 8 ns, clock_gettime about 20; the creator of the trace chooses the clock.
inline uint64_t stamp(uint32_t clock) noexcept {
    if (clock == REAP_CLOCK_TSC) {
        // rdtscp waits for earlier loads and stores: a block freed here and reallocated on another core must
        // not appear to be allocated first.
        unsigned processor;
        return __rdtscp(&processor);
    }
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

} // namespace reap::preload
