// Schedules the checks of sampled objects: one class after another.
#pragma once

#include <cstdint>

namespace reap::drag {

// Every object is checked once per `interval` bytes allocated. Objects are in classes, whose phases are
// spread over the interval, so that a simultaneous last access of all objects is estimated too early as often
// as too late. The interval may change from call to call if it does not depend on results of checks; the
// weight of a check is the interval at that time. Not thread-safe.
class Rounds {
  public:
    static constexpr uint32_t kClasses = 16;

    // `phase` in [0, 1): the random start within the first interval.
    void begin(double phase) noexcept {
        turn_ = 0;
        part_ = phase * kClasses;
    }

    // A turn is the check of one class. A range of turns, by number.
    struct Turns {
        uint64_t first;
        uint64_t count;
    };

    // How many of `turns`, or rounds, belong to an object that is checked in every `step`-th.
    static uint64_t own(Turns turns, uint32_t step, uint32_t phase) noexcept {
        const uint64_t ahead = (phase % step + step - turns.first % step) % step;
        return turns.count <= ahead ? 0 : 1 + (turns.count - ahead - 1) / step;
    }

    // `bytes` have been allocated. Calls `check(class, round, times)` for each class that is due: for `times`
    // rounds from `round` on.
    template <class Check>
    Turns pass(uint64_t bytes, double interval, Check check) noexcept {
        const uint64_t first = turn_;
        part_ += static_cast<double>(bytes) * kClasses / interval;
        if (part_ >= 2 * kClasses) {
            const auto rounds = static_cast<uint64_t>(part_ / kClasses);
            for (uint64_t turn = turn_; turn < turn_ + kClasses; ++turn)
                check(class_of(turn), turn / kClasses, rounds);
            turn_ += rounds * kClasses;
            part_ -= static_cast<double>(rounds * kClasses);
        }
        for (; part_ >= 1; part_ -= 1, ++turn_) check(class_of(turn_), turn_ / kClasses, uint64_t{1});
        return {first, turn_ - first};
    }

    // Bytes to the next check.
    [[nodiscard]] double ahead(double interval) const noexcept { return (1 - part_) * interval / kClasses; }

  private:
    // Spreads adjacent class numbers, which objects sampled one after another have, over time.
    static uint32_t class_of(uint64_t turn) noexcept { return static_cast<uint32_t>(turn * 13 % kClasses); }

    uint64_t turn_ = 0;
    double part_ = 0; // fraction of the way to the next turn
};

} // namespace reap::drag
