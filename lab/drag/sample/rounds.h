// When sampled objects are looked at: class by class, in turns.
#pragma once

#include <cstdint>

namespace reap::drag {

// Every object is looked at once in `interval` bytes allocated, whatever its phase. Objects are in classes,
// whose phases are spread over the interval, so that what ends for all of them at once is seen too early as
// often as too late. The interval may change from call to call, as long as what the looks say has no part in
// it; the weight of a look is the interval that it came with. Not thread-safe.
class Rounds {
  public:
    static constexpr uint32_t kClasses = 16;

    // `phase` in [0, 1): where in the first interval this begins, drawn at random.
    void begin(double phase) noexcept {
        turn_ = 0;
        part_ = phase * kClasses;
    }

    // A turn is a class's: those that were passed, by number.
    struct Turns {
        uint64_t first;
        uint64_t count;
    };

    // How many of `turns`, or rounds, are those of somebody who has one in every `step`.
    static uint64_t own(Turns turns, uint32_t step, uint32_t phase) noexcept {
        const uint64_t ahead = (phase % step + step - turns.first % step) % step;
        return turns.count <= ahead ? 0 : 1 + (turns.count - ahead - 1) / step;
    }

    // So many bytes have been allocated. Calls back with (class, round, times) where looks are due at that
    // class: those of the rounds from `round` on, several where the bytes were many.
    template <class Look>
    Turns pass(uint64_t bytes, double interval, Look look) noexcept {
        const uint64_t first = turn_;
        part_ += static_cast<double>(bytes) * kClasses / interval;
        if (part_ >= 2 * kClasses) {
            const auto rounds = static_cast<uint64_t>(part_ / kClasses);
            for (uint64_t turn = turn_; turn < turn_ + kClasses; ++turn)
                look(class_of(turn), turn / kClasses, rounds);
            turn_ += rounds * kClasses;
            part_ -= static_cast<double>(rounds * kClasses);
        }
        for (; part_ >= 1; part_ -= 1, ++turn_) look(class_of(turn_), turn_ / kClasses, uint64_t{1});
        return {first, turn_ - first};
    }

    // Bytes to the next look.
    [[nodiscard]] double ahead(double interval) const noexcept { return (1 - part_) * interval / kClasses; }

  private:
    // Classes with numbers side by side, which objects drawn one after another have, are far apart in time.
    static uint32_t class_of(uint64_t turn) noexcept { return static_cast<uint32_t>(turn * 13 % kClasses); }

    uint64_t turn_ = 0;
    double part_ = 0; // of the way to the next turn
};

} // namespace reap::drag
