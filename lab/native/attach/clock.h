// The time by which windows are measured.
#pragma once

#include <ctime>

namespace reap::native {

// CLOCK_MONOTONIC, in seconds.
inline double monotonic_seconds() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// Less than a second; a signal ends it early.
inline void pause_for(double seconds) {
    const timespec time{0, static_cast<long>(seconds * 1e9)};
    nanosleep(&time, nullptr);
}

} // namespace reap::native
