// SPDX-License-Identifier: MIT
#include "perf/event_counter.h"

#include <cstring>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace reap::spawn {

bool EventCounter::attach(pid_t child) {
    perf_event_attr attributes;
    std::memset(&attributes, 0, sizeof attributes);
    attributes.size = sizeof attributes;
    attributes.type = event_.type;
    attributes.config = event_.config;
    attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    attributes.disabled = 1;
    attributes.enable_on_exec = 1;
    attributes.inherit = 1;
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;
    fd_ = static_cast<int>(syscall(SYS_perf_event_open, &attributes, child, -1, -1, PERF_FLAG_FD_CLOEXEC));
    return true; // the program runs without a count if the event is not available
}

void EventCounter::detach() {
    struct {
        std::uint64_t count;
        std::uint64_t enabled_ns;
        std::uint64_t running_ns;
    } seen{};
    if (fd_ < 0) return;
    const bool whole = read(fd_, &seen, sizeof seen) == static_cast<ssize_t>(sizeof seen) &&
                       seen.enabled_ns > 0 && seen.running_ns >= seen.enabled_ns;
    if (whole) events_ = static_cast<std::int64_t>(seen.count);
    close(fd_);
    fd_ = -1;
}

} // namespace reap::spawn
