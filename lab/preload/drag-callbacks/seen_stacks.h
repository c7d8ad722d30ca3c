// The numbers of stacks that were met before, by a hash of all their frames.
#pragma once

#include <cstddef>
#include <cstdint>

namespace reap::drag {

// No larger than it must be: each allocation looks here, so that what it takes of the processor's caches is
// taken from the program. Not thread-safe.
class SeenStacks {
  public:
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
    static constexpr unsigned kFirstBits = 10;
    static constexpr unsigned kMostBits = 20;

    [[nodiscard]] size_t mask() const noexcept { return (size_t{1} << (64 - shift_)) - 1; }
    bool grow() noexcept;

    Entry first_[size_t{1} << kFirstBits] = {};
    Entry *entries_ = first_;
    unsigned shift_ = 64 - kFirstBits;
    size_t count_ = 0;
};

} // namespace reap::drag
