// The sampling rate, limited by a share of the run time.
#pragma once

#include <cstdint>
#include <ctime>

namespace reap::drag {

// Measures what sampling has cost so far, and adjusts the mean gap between samples accordingly. Depends on
// past samples only, so that their weights stay exact. Not thread-safe.
class Pace {
  public:
    static uint64_t now_ns(clockid_t clock = CLOCK_MONOTONIC) noexcept {
        timespec now{};
        clock_gettime(clock, &now);
        return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
    }

    // Measures a piece of work by elapsed time, capped at a plausible maximum because the thread may be
    // preempted: reading a per-thread CPU clock costs more than most of the work.
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

    // `period` is a fixed mean gap, at most a terabyte; 0 for one that is adjusted.
    void begin(uint64_t period) noexcept {
        fixed_ = period < kWidestFixed ? period : kWidestFixed;
        began_ns_ = now_ns(CLOCK_PROCESS_CPUTIME_ID);
        spent_ns_ = 0;
        over_ = 1;
    }

    // The program will take so many additional page faults.
    void faults(uint64_t pages) noexcept {
        spent_ns_ += pages * kFaultNs;
        max_ns_ += pages * kFaultNs;
    }
    // The current work involves so many objects.
    void objects(uint64_t count) noexcept { max_ns_ += count * kMaxObjectNs; }

    [[nodiscard]] uint64_t spent_ns() const noexcept { return spent_ns_; }

    // The ratio of cost to allowed cost when the period was last computed; at least 1.
    [[nodiscard]] double over() const noexcept { return over_; }

    // The next mean gap in bytes, after so many samples.
    uint64_t period(uint64_t allocated, uint64_t samples) noexcept {
        if (fixed_ != 0) return fixed_;
        const double elapsed = static_cast<double>(now_ns(CLOCK_PROCESS_CPUTIME_ID) - began_ns_ + kStartNs);
        const double cost = (static_cast<double>(spent_ns_) + kGuesses * kGuessedCostNs) /
                            (static_cast<double>(samples) + kGuesses);
        const double late = 1 + elapsed / kFirstNs;
        double share = kShare + kShareAtFirst / (late * late);
        // Compensates if it has cost more than that, as with large objects after small ones.
        const double allowed =
            elapsed * kShare + kShareAtFirst * kFirstNs * (1 - 1 / late) + kGuesses * kGuessedCostNs;
        over_ = static_cast<double>(spent_ns_) / allowed;
        if (over_ < 1) over_ = 1;
        // An initial burst must not end sampling: the next gap applies to a whole stratum.
        if (over_ > kMaxOver) over_ = kMaxOver;
        share /= over_ * over_ * over_ * over_;
        // Runs of months must fit into a file, and the first samples are the most informative.
        const double many = static_cast<double>(samples) / kMany;
        if (many > 1) share /= many * many;
        const double wanted = static_cast<double>(allocated) / elapsed * cost / share;
        if (wanted < kNarrowest) return static_cast<uint64_t>(kNarrowest);
        return static_cast<uint64_t>(wanted < kWidest ? wanted : kWidest);
    }

  private:
    void done(uint64_t ns) noexcept {
        spent_ns_ += ns < max_ns_ ? ns : max_ns_;
        max_ns_ = kMaxNs;
    }

    static constexpr uint64_t kMaxNs = 20'000;
    static constexpr uint64_t kMaxObjectNs = 2'000;
    static constexpr double kNarrowest = 4096;
    static constexpr uint64_t kWidestFixed = uint64_t{1} << 40;
    static constexpr auto kWidest = static_cast<double>(kWidestFixed);
    // Shares of the run time: more at first, so that a short run has samples too; that adds 25 ms in total.
    static constexpr double kShareAtFirst = 0.1;
    static constexpr double kShare = 0.015;
    static constexpr double kFirstNs = 250e6;
    static constexpr double kGuessedCostNs = 20'000; // prior cost of a sample, with the weight of ten samples
    static constexpr double kGuesses = 10;
    static constexpr double kMaxOver = 4;
    static constexpr uint64_t kStartNs = 1'000'000; // so that the first microseconds do not decide the gap
    static constexpr double kMany = 20'000;
    static constexpr uint64_t kFaultNs = 1'500;

    uint64_t fixed_ = 0;
    uint64_t began_ns_ = 0;
    uint64_t spent_ns_ = 0;
    double over_ = 1;
    uint64_t max_ns_ = kMaxNs;
};

} // namespace reap::drag
