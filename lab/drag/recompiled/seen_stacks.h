// The numbers of stacks that were met before, by a hash of all their frames.
#pragma once

#include <cstddef>
#include <cstdint>

namespace reap::drag {

// No larger than it must be: each allocation looks here, so that what it takes of the processor's caches is
// taken from the program. Not thread-safe. A stack has another's number with a chance of one in 2^36 for each
// that it is compared with, which are two.
class SeenStacks {
  public:
    static constexpr unsigned kNumberBits = 28;

    // 0 of one not met.
    [[nodiscard]] uint32_t find(uint64_t hash) const noexcept {
        for (size_t at = hash >> shift_;; at = (at + 1) & mask()) {
            const uint64_t number = entries_[at] ^ hash << kNumberBits;
            if (number < uint64_t{1} << kNumberBits) return static_cast<uint32_t>(number);
            if (entries_[at] == 0) return 0;
        }
    }
    // One that is not there, by a number that is not 0. What has no room is forgotten, and so are all when
    // the table grows.
    void add(uint64_t hash, uint32_t number) noexcept;
    void clear() noexcept;

  private:
    // Of the hash, the first bits say where in the table; the last are here, with the number behind. 0: none.
    using Entry = uint64_t;
    static constexpr unsigned kFirstBits = 11;
    static constexpr unsigned kMostBits = 20;

    [[nodiscard]] size_t mask() const noexcept { return (size_t{1} << (64 - shift_)) - 1; }
    bool grow() noexcept;

    Entry first_[size_t{1} << kFirstBits] = {};
    Entry *entries_ = first_;
    unsigned shift_ = 64 - kFirstBits;
    size_t count_ = 0;
};

} // namespace reap::drag
