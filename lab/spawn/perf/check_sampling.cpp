// SPDX-License-Identifier: MIT
#include "perf/check_sampling.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"

namespace reap::spawn {
namespace {

int open_clock(bool with_kernel) {
    perf_event_attr attributes;
    std::memset(&attributes, 0, sizeof attributes);
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.size = sizeof attributes;
    attributes.config = PERF_COUNT_SW_CPU_CLOCK;
    attributes.sample_period = 1'000'000; // ns
    attributes.sample_type = PERF_SAMPLE_IP;
    attributes.exclude_kernel = with_kernel ? 0 : 1;
    attributes.exclude_hv = 1;
    return static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

/// Spins until one has come, but not longer than 20 ms, and counts the records. -1 with errno set if there is
/// no ring buffer.
long count_samples(int event) {
    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t data = 4 * page;
    void *ring = mmap(nullptr, page + data, PROT_READ | PROT_WRITE, MAP_SHARED, event, 0);
    if (ring == MAP_FAILED) return -1;
    const std::int64_t until = now_ns() + 20'000'000;
    const auto *control = static_cast<const perf_event_mmap_page *>(ring);
    while (__atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE) == 0 && now_ns() < until) {
    }
    constexpr std::size_t record = sizeof(perf_event_header) + sizeof(std::uint64_t);
    const long samples = static_cast<long>(__atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE) / record);
    munmap(ring, page + data);
    return samples;
}

} // namespace

bool check_sampling(int fd) {
    const int whole = open_clock(true);
    const int event = whole >= 0 ? whole : open_clock(false);
    long samples = event >= 0 ? count_samples(event) : -1;
    const int error = samples < 0 ? errno : 0;
    if (samples < 0) samples = 0;
    return dprintf(fd, "{\"samples\":%ld,\"kernel\":%s,\"errno\":%d}\n", samples,
                   whole >= 0 ? "true" : "false", error) > 0;
}

} // namespace reap::spawn
