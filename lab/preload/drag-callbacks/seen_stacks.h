// The numbers of stacks that were met before, by a hash of all their frames.
#pragma once

#include <cstddef>
#include <cstdint>

#include "stack.h"

namespace reap::drag {

// No larger than it must be: each allocation looks here, so that what it takes of the processor's caches is
// taken from the program. Not thread-safe. Two stacks share a number with a chance of one in 2^64.
class SeenStacks {
  public:
    // Costs a multiplication a frame, none of which waits for another.
    static uint64_t hash_of(const Stack &stack) noexcept {
        uint64_t hash = stack.depth;
        for (uint32_t i = 0; i < stack.depth; ++i) hash += stack.frames[i] * kOdd.of[i];
        return hash != 0 ? hash : 1;
    }

    // 0 of one not met.
    [[nodiscard]] uint32_t find(uint64_t hash) const noexcept {
        for (size_t at = hash >> shift_;; at = (at + 1) & mask()) {
            const Entry &entry = entries_[at];
            if (entry.hash == hash) return entry.number;
            if (entry.hash == 0) return 0;
        }
    }
    // One that is not there. What has no room is forgotten.
    void add(uint64_t hash, uint32_t number) noexcept;
    void clear() noexcept;

  private:
    struct Entry {
        uint64_t hash; // 0: none
        uint32_t number;
    };
    struct Multipliers {
        uint64_t of[Stack::kMost];
    };
    static constexpr Multipliers multipliers() noexcept { // by splitmix64
        Multipliers made{};
        uint64_t seed = 0;
        for (uint64_t &one : made.of) {
            uint64_t mixed = seed += UINT64_C(0x9e3779b97f4a7c15);
            mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
            mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
            one = (mixed ^ mixed >> 31) | 1;
        }
        return made;
    }
    static const Multipliers kOdd;
    static constexpr unsigned kFirstBits = 10;
    static constexpr unsigned kMostBits = 20;

    [[nodiscard]] size_t mask() const noexcept { return (size_t{1} << (64 - shift_)) - 1; }
    bool grow() noexcept;

    Entry first_[size_t{1} << kFirstBits] = {};
    Entry *entries_ = first_;
    unsigned shift_ = 64 - kFirstBits;
    size_t count_ = 0;
};

inline constexpr SeenStacks::Multipliers SeenStacks::kOdd = SeenStacks::multipliers();

} // namespace reap::drag
