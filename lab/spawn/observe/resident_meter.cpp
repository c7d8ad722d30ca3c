// SPDX-License-Identifier: MIT
#include "observe/resident_meter.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <ctime>
#include <unistd.h>

#include "proc/resident.h"

namespace reap::spawn {
namespace {

/// Irregular intervals, so that sampling does not alias with a period of the program.
constexpr std::int64_t min_gap_ns = 5'000'000;
constexpr std::uint32_t gap_spread_ns = 4'000'000;
/// Of the time, at most one part in so many is spent sampling: a tree of hundreds of processes takes
/// milliseconds, and so do the page tables of a large one.
constexpr std::int64_t cost_divisor = 100;
constexpr std::int64_t pss_cost_divisor = 200;

/// CPU time, as on a busy machine it is the waiting that takes long, and not the sampling.
std::int64_t cpu_ns() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

} // namespace

bool ResidentMeter::attach(pid_t child) {
    (void)child;
    next_ = now_ns() + min_gap_ns;
    return true;
}

void ResidentMeter::tick(std::int64_t now) {
    random_ = random_ * 1664525u + 1013904223u;
    const std::int64_t gap = min_gap_ns + (random_ >> 8) % gap_spread_ns;
    const std::int64_t begin = cpu_ns();
    const std::uint64_t resident = resident_memory(getpid()).bytes;
    const std::int64_t sampled = cpu_ns();
    next_ = now + std::max(gap, cost_divisor * (sampled - begin));
    if (resident == 0) return; // ended, but not waited for yet
    if (now >= next_pss_) {
        const std::uint64_t proportional = proportional_memory(getpid());
        shared_ = resident > proportional ? resident - proportional : 0;
        next_pss_ = now + pss_cost_divisor * (cpu_ns() - sampled);
    }
    if (seen_++ % keep_every_ == 0) keep({now, resident - std::min(shared_, resident)});
}

void ResidentMeter::keep(Sample sample) {
    if (count_ == max_samples) {
        count_ = max_samples / 2;
        keep_every_ *= 2;
        for (std::size_t i = 0; i < count_; ++i) samples_[i] = samples_[2 * i];
    }
    samples_[count_++] = sample;
}

bool ResidentMeter::write(int file) const {
    bool whole = true;
    for (std::size_t i = 0; i < count_ && whole; ++i)
        whole = dprintf(file, "%" PRId64 " %" PRIu64 "\n", samples_[i].at, samples_[i].bytes) > 0;
    return whole;
}

} // namespace reap::spawn
