#pragma once

#include <bit>
#include <cstddef>

#include "reap/core/size.h"
#include "reap/core/source.h"

namespace reap::inline REAP_MODE::interpose {

/// Large blocks that were freed, kept for the next that asks for one of the same size: it need not be mapped
/// and, what takes longer, touched anew. At most 16 blocks, of 16 MB together; the oldest go first.
///
/// It gives nothing back itself: excess() says what has to go. Not thread-safe.
class LargeCache {
  public:
    static constexpr std::size_t capacity = std::size_t{16} << 20;

    /// How large a block for `size` bytes is: eight sizes between two powers of two, so that sizes that are
    /// nearly equal are.
    [[nodiscard]] static constexpr std::size_t block_for(std::size_t size) noexcept {
        constexpr std::size_t page = 4096;
        const std::size_t step = std::bit_floor(size) / 8;
        return size > max_object / 2 ? size : round_up(size, step > page ? step : page);
    }

    /// A block of exactly so many bytes, the last that came, or null.
    [[nodiscard]] void *take(std::size_t size) noexcept {
        for (std::size_t at = count_; at-- > 0;)
            if (blocks_[at].size == size) return remove(at).data;
        return nullptr;
    }
    void put(Allocation block) noexcept {
        held_ += block.size;
        blocks_[count_++] = block;
    }
    /// A block that is too much, or null. To be asked after each put(), until there is none.
    [[nodiscard]] Allocation excess() noexcept {
        if (held_ <= capacity && count_ <= most) return {};
        // The latest, if it would drive out all others.
        return remove(blocks_[count_ - 1].size > capacity / 2 ? count_ - 1 : 0);
    }
    /// Any block, or null: to empty it.
    [[nodiscard]] Allocation any() noexcept { return count_ > 0 ? remove(count_ - 1) : Allocation{}; }
    [[nodiscard]] std::size_t held() const noexcept { return held_; }

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
