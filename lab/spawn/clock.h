/* The clock of the launcher.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_CLOCK_H
#define REAP_SPAWN_CLOCK_H

#include <cstdint>
#include <ctime>

namespace reap::spawn {

/// A time that is never reached.
constexpr std::int64_t never = INT64_MAX;

/// CLOCK_MONOTONIC in nanoseconds.
inline std::int64_t now_ns() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

} // namespace reap::spawn

#endif
