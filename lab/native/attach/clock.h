// The time by which windows are measured, and how a thread keeps to it.
#pragma once

#include <ctime>
#include <sys/resource.h>

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

// A window that ends late costs the process more: this thread does little, but does it at once, also beside
// busy processes. Where it may not, it goes on as it was.
inline void run_promptly() { (void)::setpriority(PRIO_PROCESS, 0, -15); }

} // namespace reap::native
