// How densely samples are drawn: as many as cost a given share of the time.
#pragma once

#include <cstdint>
#include <ctime>

namespace reap::drag {

// Knows what sampling has cost so far, by its own account, and steers the mean gap between samples by that.
// The past alone decides, so that the weights of samples stay exact. Not thread-safe.
class Pace {
  public:
    static uint64_t now_ns(clockid_t clock = CLOCK_MONOTONIC) noexcept {
        timespec now{};
        clock_gettime(clock, &now);
        return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
    }

    // Measures a stretch of work. More than it can have taken is what others did meanwhile: the clock runs on
    // where the thread does not, and one that stops for each thread costs more than most of the work.
    class Work {
      public:
        explicit Work(Pace &pace) noexcept : pace_(pace), entered_(now_ns()) {}
        ~Work() { pace_.done(now_ns() - entered_); }
        Work(const Work &) = delete;
        Work &operator=(const Work &) = delete;

      private:
        Pace &pace_;
        uint64_t entered_;
    };

    // `period` is the mean gap that never changes, up to a terabyte; 0 for one that is steered.
    void begin(uint64_t period) noexcept {
        fixed_ = period < kWidestFixed ? period : kWidestFixed;
        began_ns_ = now_ns(CLOCK_PROCESS_CPUTIME_ID);
        spent_ns_ = 0;
        over_ = 1;
    }

    // The program will have to fetch so many pages more than without us.
    void faults(uint64_t pages) noexcept {
        spent_ns_ += pages * kFaultNs;
        most_ns_ += pages * kFaultNs;
    }
    // The work under way is with so many objects.
    void objects(uint64_t count) noexcept { most_ns_ += count * kMostObjectNs; }

    [[nodiscard]] uint64_t spent_ns() const noexcept { return spent_ns_; }

    // By how much it has cost more than it may, when a period was last asked for; 1 where it has not.
    [[nodiscard]] double over() const noexcept { return over_; }

    // The bytes of which one is to be drawn next, after so many samples.
    uint64_t period(uint64_t allocated, uint64_t samples) noexcept {
        if (fixed_ != 0) return fixed_;
        const double elapsed = static_cast<double>(now_ns(CLOCK_PROCESS_CPUTIME_ID) - began_ns_ + kStartNs);
        const double cost = (static_cast<double>(spent_ns_) + kGuesses * kGuessedCostNs) /
                            (static_cast<double>(samples) + kGuesses);
        const double late = 1 + elapsed / kFirstNs;
        double share = kShare + kShareAtFirst / (late * late);
        // Where it has cost more than that, as with large objects after small ones, it makes up for it.
        const double allowed =
            elapsed * kShare + kShareAtFirst * kFirstNs * (1 - 1 / late) + kGuesses * kGuessedCostNs;
        over_ = static_cast<double>(spent_ns_) / allowed;
        if (over_ < 1) over_ = 1;
        // A burst at first is not to end it all: what is drawn next decides for a whole stratum.
        if (over_ > kMostOver) over_ = kMostOver;
        share /= over_ * over_ * over_ * over_;
        // Months are to fit into a file, and the first ones tell most.
        const double many = static_cast<double>(samples) / kMany;
        if (many > 1) share /= many * many;
        const double wanted = static_cast<double>(allocated) / elapsed * cost / share;
        if (wanted < kNarrowest) return static_cast<uint64_t>(kNarrowest);
        return static_cast<uint64_t>(wanted < kWidest ? wanted : kWidest);
    }

  private:
    void done(uint64_t ns) noexcept {
        spent_ns_ += ns < most_ns_ ? ns : most_ns_;
        most_ns_ = kMostNs;
    }

    static constexpr uint64_t kMostNs = 20'000;
    static constexpr uint64_t kMostObjectNs = 2'000;
    static constexpr double kNarrowest = 4096;
    static constexpr uint64_t kWidestFixed = uint64_t{1} << 40;
    static constexpr auto kWidest = static_cast<double>(kWidestFixed);
    // Of the time: more at first, since a short run is to have samples too; that adds 25 ms in the long run.
    static constexpr double kShareAtFirst = 0.1;
    static constexpr double kShare = 0.015;
    static constexpr double kFirstNs = 250e6;
    static constexpr double kGuessedCostNs = 20'000; // of a sample, which ten are taken to have had already
    static constexpr double kGuesses = 10;
    static constexpr double kMostOver = 4;
    static constexpr uint64_t kStartNs = 1'000'000; // so that the first microseconds do not decide the gap
    static constexpr double kMany = 20'000;
    static constexpr uint64_t kFaultNs = 1'500;

    uint64_t fixed_ = 0;
    uint64_t began_ns_ = 0;
    uint64_t spent_ns_ = 0;
    double over_ = 1;
    uint64_t most_ns_ = kMostNs;
};

} // namespace reap::drag
