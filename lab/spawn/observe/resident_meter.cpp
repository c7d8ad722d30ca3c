// SPDX-License-Identifier: MIT
#include "observe/resident_meter.h"

#include <algorithm>
#include <unistd.h>

#include "proc/resident.h"

namespace reap::spawn {
namespace {

/// At no regular beat, so that a program's own beat is not hidden by it.
constexpr std::int64_t shortest_gap_ns = 5'000'000;
constexpr std::uint32_t gap_spread_ns = 4'000'000;
/// Looking takes one part in so many of the time at most: a tree of hundreds of processes takes milliseconds.
constexpr std::int64_t looking_share = 20;

} // namespace

bool ResidentMeter::attach(pid_t child) {
    (void)child;
    begin_ = seen_until_ = now_ns();
    next_ = begin_ + shortest_gap_ns;
    return true;
}

void ResidentMeter::tick(std::int64_t now) {
    random_ = random_ * 1664525u + 1013904223u;
    const std::int64_t gap = shortest_gap_ns + (random_ >> 8) % gap_spread_ns;
    const std::uint64_t bytes = resident_bytes(getpid());
    next_ = now + std::max(gap, looking_share * (now_ns() - now));
    if (bytes == 0) return; // it has ended, and nobody has waited for it yet
    // A look stands for the time since the one before it.
    byte_seconds_ += static_cast<double>(bytes) * static_cast<double>(now - seen_until_) * 1e-9;
    seen_until_ = now;
    if (seen_++ % one_in_ == 0) keep({now, static_cast<std::int64_t>(bytes)});
}

void ResidentMeter::keep(Look look) {
    if (count_ == most) {
        count_ = most / 2;
        one_in_ *= 2;
        for (std::size_t i = 0; i < count_; ++i) looks_[i] = looks_[2 * i];
    }
    looks_[count_++] = look;
}

std::int64_t ResidentMeter::mean() const {
    if (count_ == 0) return unseen;
    return static_cast<std::int64_t>(byte_seconds_ / (static_cast<double>(seen_until_ - begin_) * 1e-9));
}

std::int64_t ResidentMeter::late() const {
    if (count_ == 0) return unseen;
    const std::int64_t half = begin_ + (looks_[count_ - 1].at - begin_) / 2;
    std::int64_t bytes[most];
    std::size_t found = 0;
    for (std::size_t i = 0; i < count_; ++i) {
        if (looks_[i].at >= half) bytes[found++] = looks_[i].bytes;
    }
    std::nth_element(bytes, bytes + found / 2, bytes + found);
    return bytes[found / 2];
}

} // namespace reap::spawn
