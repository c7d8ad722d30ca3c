#include "event_counter.h"

#include <cerrno>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform.h"

namespace reap::preload {

EventCounter::EventCounter(const reap_litter_header &header) noexcept {
    if (header.count == 0) return;
    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    attributes.type = header.event_type;
    attributes.config = header.event_config;
    attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;
    descriptor_ =
        static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

EventCounter::~EventCounter() {
    if (descriptor_ >= 0) close_quietly(descriptor_);
}

uint64_t EventCounter::events() const noexcept {
    struct {
        uint64_t count;
        uint64_t enabled_ns;
        uint64_t running_ns;
    } seen{};
    if (descriptor_ < 0 || syscall(SYS_read, descriptor_, &seen, sizeof seen) != sizeof seen ||
        seen.running_ns < seen.enabled_ns) {
        return REAP_LITTER_UNCOUNTED;
    }
    return seen.count;
}

} // namespace reap::preload
