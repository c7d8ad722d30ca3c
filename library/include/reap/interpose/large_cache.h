#pragma once

#include <bit>
#include <cstddef>

#include "reap/core/size.h"
#include "reap/core/source.h"
#include "reap/source/system_pages.h"

namespace reap::inline REAP_MODE::interpose {

/// Freed large blocks, kept for the next request of that size or less. They save a mapping and, what takes
/// longer, page faults. At most 16 blocks, of 16 MB together; the oldest are evicted first.
///
/// It returns nothing to the system itself: excess() names the blocks to release. Not thread-safe.
class LargeCache {
  public:
    static constexpr std::size_t capacity = std::size_t{16} << 20;

    /// The block size for `size` bytes: eight size classes per power of two, so that nearly equal sizes share
    /// one, rounded up to whole pages.
    [[nodiscard]] static std::size_t block_for(std::size_t size, std::size_t page = page_size()) noexcept {
        const std::size_t step = std::bit_floor(size) / 8;
        return size > max_object / 2 ? size : round_up(size, step > page ? step : page);
    }

    /// The smallest block of at least that size, and at most twice as large; among several the most recent.
    /// Null if there is none.
    [[nodiscard]] Allocation take(std::size_t size) noexcept {
        std::size_t best = count_;
        for (std::size_t at = count_; at-- > 0;) {
            const std::size_t found = blocks_[at].size;
            if (found >= size && found / 2 <= size && (best == count_ || found < blocks_[best].size))
                best = at;
        }
        return best == count_ ? Allocation{} : remove(best);
    }
    void put(Allocation block) noexcept {
        held_ += block.size;
        blocks_[count_++] = block;
    }
    /// A block in excess of the limits, or null. Call it after each put(), until it returns null.
    [[nodiscard]] Allocation excess() noexcept {
        if (held_ <= capacity && count_ <= most) return {};
        // The most recent, if it would evict all others.
        return remove(blocks_[count_ - 1].size > capacity / 2 ? count_ - 1 : 0);
    }
    /// Any block, or null: to empty the cache.
    [[nodiscard]] Allocation any() noexcept { return count_ > 0 ? remove(count_ - 1) : Allocation{}; }
    [[nodiscard]] std::size_t held() const noexcept { return held_; }
    [[nodiscard]] std::size_t count() const noexcept { return count_; }

  private:
    static constexpr std::size_t most = 16;

    Allocation remove(std::size_t place) noexcept {
        const Allocation block = blocks_[place];
        --count_;
        for (std::size_t at = place; at < count_; ++at) blocks_[at] = blocks_[at + 1];
        held_ -= block.size;
        return block;
    }

    Allocation blocks_[most + 1] = {}; // the oldest first
    std::size_t count_ = 0;
    std::size_t held_ = 0;
};

} // namespace reap::inline REAP_MODE::interpose
