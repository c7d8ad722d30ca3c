// What the threads of a process executed while others of its threads waited for them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace reap::native {

// Samples of a process, each weighted by how many of its threads waited at that time.
struct Awaited {
    uint64_t samples = 0;
    double waiters = 0; // the sum of the weights
    double inside = 0;  // of these, the weights of samples in the allocator
};

enum class Awaits : uint8_t { lock, other };

// Samples and polls come from different sources in no common order, so they are joined by stretches of time.
// Memory is bounded by the number of stretches in which a process ran or waited.
class AwaitedThreads {
  public:
    static constexpr uint64_t kStretchesPerSecond = 100; // as often as threads are polled

    explicit AwaitedThreads(uint64_t ticks_per_second)
        : stretch_ticks_(ticks_per_second < kStretchesPerSecond ? 1
                                                                : ticks_per_second / kStretchesPerSecond) {}

    void ran(uint32_t pid, uint64_t ticks, bool inside) {
        Stretch &at = stretches_[{pid, ticks / stretch_ticks_}];
        ++at.samples;
        at.inside += inside ? 1 : 0;
    }

    // A thread waited in a poll.
    void waited(uint32_t pid, uint64_t ticks, Awaits what) {
        ++stretches_[{pid, ticks / stretch_ticks_}].waiters[static_cast<size_t>(what)];
    }

    [[nodiscard]] Awaited of(Awaits what) const {
        Awaited out;
        for (const auto &[at, stretch] : stretches_) {
            const auto waiters = static_cast<double>(stretch.waiters[static_cast<size_t>(what)]);
            if (waiters == 0) continue;
            out.samples += stretch.samples;
            out.waiters += waiters * static_cast<double>(stretch.samples);
            out.inside += waiters * static_cast<double>(stretch.inside);
        }
        return out;
    }

  private:
    struct Stretch {
        uint64_t samples = 0;
        uint64_t inside = 0;
        std::array<uint64_t, 2> waiters{}; // by Awaits
    };
    std::map<std::pair<uint32_t, uint64_t>, Stretch> stretches_; // by process and time
    uint64_t stretch_ticks_;
};

} // namespace reap::native
