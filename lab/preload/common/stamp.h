// The stamp of an event: ticks of the clock that the trace's header names.
#pragma once

#include <cstdint>
#include <ctime>
#include <x86intrin.h>

#include "reap_trace.h"

namespace reap::preload {

// rdtsc takes about 8 ns, clock_gettime about 20; the creator of the trace decides which can be trusted.
inline uint64_t stamp(uint32_t clock) noexcept {
    if (clock == REAP_CLOCK_TSC) {
        // rdtscp waits for earlier loads and stores to be done: a block freed here and handed out again on
        // another core must not look as if it had been handed out first.
        unsigned processor;
        return __rdtscp(&processor);
    }
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

} // namespace reap::preload
