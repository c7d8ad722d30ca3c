// Triage writes every event as well, as long as that takes no time that a user would notice: such a recording
// is exact. What all processes of the tree write is counted in the file's header.
#pragma once

#include <cstdint>

#include "reap_trace.h"

namespace reap::preload {

// Threads report what they wrote when they need another page, and stop after that if it was too much. So what
// is written is bounded by a block for each thread more.
class Exactness {
  public:
    using Shared = decltype(reap_file_header::exact);

    // Estimates of CPU time. A walk is through a stack that was not a recent one, or past a frame of one that
    // is too deep to remember; a frame is one that was met for the first time; the child of a fork has to
    // copy the pages of the recorder that it writes to.
    static constexpr uint64_t kEventNs = 25;
    static constexpr uint64_t kWalkNs = 60;
    static constexpr uint64_t kFrameNs = 1'000;
    static constexpr uint64_t kForkNs = 30'000;

    // So much in all, and one part in so many of the time since the recording began.
    static constexpr uint64_t kFreeNs = 20'000'000;
    static constexpr uint64_t kPart = 200;

    explicit Exactness(Shared &shared) noexcept : shared_(shared) {}

    // Whether every event is still written.
    [[nodiscard]] bool holds() const noexcept {
        return shared_.most_events != 0 && __atomic_load_n(&shared_.over, __ATOMIC_RELAXED) == 0;
    }

    // It is over, for the whole tree and for good.
    void end() noexcept { __atomic_store_n(&shared_.over, 1, __ATOMIC_RELAXED); }

    // `events` more were written, which took `cost_ns` by estimate, `elapsed_ns` after the recording began.
    // Whether to go on.
    bool report(uint64_t events, uint64_t cost_ns, uint64_t elapsed_ns) noexcept {
        const uint64_t all = __atomic_add_fetch(&shared_.events, events, __ATOMIC_RELAXED);
        const uint64_t cost = __atomic_add_fetch(&shared_.cost_ns, cost_ns, __ATOMIC_RELAXED);
        if (all > shared_.most_events || cost > kFreeNs + elapsed_ns / kPart) end();
        return holds();
    }

  private:
    Shared &shared_;
};

} // namespace reap::preload
