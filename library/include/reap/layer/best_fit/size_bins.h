#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "reap/core/mode.h"
#include "reap/layer/best_fit/free_block.h"

namespace reap::inline REAP_MODE::detail {

/// Free blocks in bins of nearly equal sizes: sixteen bins per power of two, each last in, first out.
/// SizeTree finds the best block in logarithmic time; this finds a nearly best one in constant time: the
/// block is at most a sixteenth larger than the best one, unless bins are long. As in TLSF (Masmano et al.,
/// 2004).
///
/// Takes 2 KB. Blocks of more than 7 MB share the last bin.
class SizeBins {
  public:
    void insert(FreeBlock *block) noexcept {
        const std::size_t bin = bin_of(block->size());
        FreeBlock *const first = bins_[bin];
        block->lesser = nullptr;
        block->greater = first;
        if (first != nullptr) first->lesser = block;
        bins_[bin] = block;
        filled_[bin / word_bits] |= std::uint64_t{1} << (bin % word_bits);
    }

    /// A block that is in it.
    void remove(const FreeBlock *block) noexcept {
        if (block->greater != nullptr) block->greater->lesser = block->lesser;
        if (block->lesser != nullptr) {
            block->lesser->greater = block->greater;
            return;
        }
        const std::size_t bin = bin_of(block->size());
        bins_[bin] = block->greater;
        if (block->greater == nullptr) filled_[bin / word_bits] &= ~(std::uint64_t{1} << (bin % word_bits));
    }

    /// A block of at least that size: the smallest of a few of its own bin, otherwise the most recent of the
    /// next bin that has one. Null if neither has: a block of a long bin that was not looked at is found only
    /// if that bin is the last.
    [[nodiscard]] FreeBlock *best(std::size_t size) const noexcept {
        const std::size_t bin = bin_of(size);
        FreeBlock *found = nullptr;
        int tries = bin == last ? -1 : most_tries;
        for (FreeBlock *block = bins_[bin]; block != nullptr && tries != 0; block = block->greater, --tries)
            if (block->size() >= size && (found == nullptr || block->size() < found->size())) found = block;
        return found != nullptr ? found : first_behind(bin);
    }
    [[nodiscard]] bool has(const FreeBlock *block) const noexcept {
        const FreeBlock *at = bins_[bin_of(block->size())];
        while (at != nullptr && at != block) at = at->greater;
        return at != nullptr;
    }

    /// Calls visit(block) for all whose bin may have blocks of `least` bytes. It may change flags.
    template <class Visit>
    void each(std::size_t least, Visit visit) const {
        for (std::size_t bin = bin_of(least); bin < bins; ++bin)
            for (FreeBlock *block = bins_[bin]; block != nullptr; block = block->greater) visit(block);
    }

  private:
    static constexpr std::size_t steps = 16;         // to a power of two
    static constexpr std::size_t exact = steps * 16; // smaller ones have a bin for each multiple of 16
    static constexpr std::size_t bins = 16 * steps;
    static constexpr std::size_t last = bins - 1;
    static constexpr std::size_t word_bits = 64;
    static constexpr int most_tries = 16;

    [[nodiscard]] static std::size_t bin_of(std::size_t size) noexcept {
        if (size < exact) return size / 16;
        const auto power = static_cast<std::size_t>(std::bit_width(size / exact)); // 1: from `exact` on
        const std::size_t bin = (power - 1) * steps + (size >> (power + 3));       // the latter is 16 to 31
        return bin < last ? bin : last;
    }
    [[nodiscard]] FreeBlock *first_behind(std::size_t bin) const noexcept {
        for (++bin; bin < bins; bin = (bin / word_bits + 1) * word_bits) {
            const std::uint64_t rest = filled_[bin / word_bits] >> (bin % word_bits);
            if (rest != 0) return bins_[bin + static_cast<std::size_t>(std::countr_zero(rest))];
        }
        return nullptr;
    }

    std::array<FreeBlock *, bins> bins_{};
    std::array<std::uint64_t, bins / word_bits> filled_{};
};

} // namespace reap::inline REAP_MODE::detail
