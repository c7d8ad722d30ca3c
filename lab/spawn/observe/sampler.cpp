// SPDX-License-Identifier: MIT
#include "observe/sampler.h"

#include <unistd.h>

#include "proc/resident.h"

namespace reap::spawn {
namespace {

/// Shorter periods at first, so that a short run has a curve and a long one is not disturbed.
constexpr std::int64_t first_period_ns = 10'000'000;
constexpr std::int64_t later_period_ns = 50'000'000;
constexpr std::int64_t young_ns = 10'000'000'000;
constexpr std::int64_t flush_period_ns = 1'000'000'000;

} // namespace

bool Sampler::attach(pid_t child) {
    child_ = child;
    if (!trace_.open(path_, child)) return false;
    server_.open(socket_);
    if (trace_.header().sampler == REAP_SAMPLER_PERF) {
        sampling_ = perf_.attach(child, {.period_us = trace_.header().sampler_period_us, .tree = true});
        // If the kernel refuses after all, the recorder samples: it reads the header when it starts.
        trace_.set_sampler(sampling_ ? REAP_SAMPLER_PERF : REAP_SAMPLER_TIMER, perf_.sees_kernel());
    }
    started_ = now_ns();
    next_ = started_;
    next_flush_ = started_ + flush_period_ns;
    return true;
}

void Sampler::tick(std::int64_t now) {
    trace_.grow();
    measure_resident(now);
    if (socket_ != nullptr) unrecorded_.poll(now, trace_);
    if (sampling_) perf_.drain(trace_);
    if (now >= next_flush_) {
        trace_.flush();
        next_flush_ = now + flush_period_ns;
    }
    ring_.tick(trace_);
    next_ = now + (now - started_ < young_ns ? first_period_ns : later_period_ns);
}

void Sampler::detach() {
    if (sampling_) perf_.drain(trace_);
    trace_.flush();
    ring_.tick(trace_);
    if (held_ != nullptr) {
        server_.serve(trace_.fd());
        server_.held().write_to(held_);
    }
}

void Sampler::measure_resident(std::int64_t now) {
    const Resident sampled = resident_memory(getpid());
    if (sampled.bytes == 0) return; // between fork and exec, or already ended
    TraceBlocks::Record(trace_, REAP_TAG_RESIDENT, now)
        .number(static_cast<std::uint64_t>(child_))
        .number(sampled.bytes)
        .number(sampled.anonymous)
        .commit();
}

} // namespace reap::spawn
