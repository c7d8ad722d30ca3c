// SPDX-License-Identifier: MIT
#include "observe/resident_meter.h"

#include <algorithm>
#include <unistd.h>

#include "proc/resident.h"

namespace reap::spawn {
namespace {

/// Irregular intervals, so that sampling does not alias with a period of the program.
constexpr std::int64_t min_gap_ns = 5'000'000;
constexpr std::uint32_t gap_spread_ns = 4'000'000;
/// At most this fraction of the time is spent sampling: a tree of hundreds of processes takes milliseconds.
constexpr std::int64_t cost_divisor = 20;

} // namespace

bool ResidentMeter::attach(pid_t child) {
    (void)child;
    begin_ = last_sample_ = now_ns();
    next_ = begin_ + min_gap_ns;
    return true;
}

void ResidentMeter::tick(std::int64_t now) {
    random_ = random_ * 1664525u + 1013904223u;
    const std::int64_t gap = min_gap_ns + (random_ >> 8) % gap_spread_ns;
    const std::uint64_t bytes = resident_memory(getpid()).bytes;
    next_ = now + std::max(gap, cost_divisor * (now_ns() - now));
    if (bytes == 0) return; // ended, but not waited for yet
    // A sample is weighted by the time since the previous one.
    byte_seconds_ += static_cast<double>(bytes) * static_cast<double>(now - last_sample_) * 1e-9;
    last_sample_ = now;
    if (seen_++ % keep_every_ == 0) keep({now, static_cast<std::int64_t>(bytes)});
}

void ResidentMeter::keep(Sample sample) {
    if (count_ == max_samples) {
        count_ = max_samples / 2;
        keep_every_ *= 2;
        for (std::size_t i = 0; i < count_; ++i) samples_[i] = samples_[2 * i];
    }
    samples_[count_++] = sample;
}

std::int64_t ResidentMeter::mean() const {
    if (count_ == 0) return not_sampled;
    return static_cast<std::int64_t>(byte_seconds_ / (static_cast<double>(last_sample_ - begin_) * 1e-9));
}

std::int64_t ResidentMeter::late() const {
    if (count_ == 0) return not_sampled;
    const std::int64_t half = begin_ + (samples_[count_ - 1].at - begin_) / 2;
    std::int64_t bytes[max_samples];
    std::size_t found = 0;
    for (std::size_t i = 0; i < count_; ++i) {
        if (samples_[i].at >= half) bytes[found++] = samples_[i].bytes;
    }
    std::nth_element(bytes, bytes + found / 2, bytes + found);
    return bytes[found / 2];
}

} // namespace reap::spawn
