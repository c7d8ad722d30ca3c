#pragma once

#include <cstddef>
#include <cstdint>

#include "reap/core/mode.h"
#include "reap/layer/best_fit/free_block.h"

namespace reap::inline REAP_MODE::detail {

/// Free blocks ordered by size, then by address. Takes no memory of its own.
///
/// A treap (Aragon and Seidel, 1989), ordered as a heap by a hash of the address, so that it is balanced for
/// any sequence of sizes. Stephenson's Fast Fits (1983) keeps free blocks in such a tree, too. Each operation
/// takes logarithmic time, where a sorted list takes linear. A block's size may change only while it is not
/// in the tree.
class SizeTree {
  public:
    void insert(FreeBlock *block) noexcept {
        FreeBlock **link = &root_;
        const std::uint64_t own = rank(block);
        while (*link != nullptr && rank(*link) > own)
            link = is_before(block, *link) ? &(*link)->lesser : &(*link)->greater;
        // What hangs there is split in two around it.
        FreeBlock *rest = *link;
        *link = block;
        FreeBlock **lesser = &block->lesser;
        FreeBlock **greater = &block->greater;
        while (rest != nullptr) {
            if (is_before(rest, block)) {
                *lesser = rest;
                lesser = &rest->greater;
                rest = rest->greater;
            } else {
                *greater = rest;
                greater = &rest->lesser;
                rest = rest->lesser;
            }
        }
        *lesser = nullptr;
        *greater = nullptr;
    }

    /// A block that is in it.
    void remove(const FreeBlock *block) noexcept {
        FreeBlock **link = &root_;
        while (*link != block) link = is_before(block, *link) ? &(*link)->lesser : &(*link)->greater;
        FreeBlock *lesser = block->lesser;
        FreeBlock *greater = block->greater;
        while (lesser != nullptr && greater != nullptr) {
            if (rank(lesser) > rank(greater)) {
                *link = lesser;
                link = &lesser->greater;
                lesser = lesser->greater;
            } else {
                *link = greater;
                link = &greater->lesser;
                greater = greater->lesser;
            }
        }
        *link = lesser != nullptr ? lesser : greater;
    }

    /// The smallest block of at least that size, among equals the one at the lowest address; null if there is
    /// none.
    [[nodiscard]] FreeBlock *best(std::size_t size) const noexcept {
        FreeBlock *found = nullptr;
        for (FreeBlock *at = root_; at != nullptr;) {
            if (at->size() >= size) {
                found = at;
                at = at->lesser;
            } else {
                at = at->greater;
            }
        }
        return found;
    }
    [[nodiscard]] bool has(const FreeBlock *block) const noexcept {
        const FreeBlock *at = root_;
        while (at != nullptr && at != block) at = is_before(block, at) ? at->lesser : at->greater;
        return at != nullptr;
    }

  private:
    [[nodiscard]] static bool is_before(const FreeBlock *one, const FreeBlock *other) noexcept {
        if (one->size() != other->size()) return one->size() < other->size();
        return reinterpret_cast<std::uintptr_t>(one) < reinterpret_cast<std::uintptr_t>(other);
    }
    /// A good hash: MurmurHash3's finalizer (Appleby). Products alone would rise in long runs where addresses
    /// do.
    [[nodiscard]] static std::uint64_t rank(const FreeBlock *block) noexcept {
        auto mixed = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(block));
        mixed = (mixed ^ mixed >> 33U) * 0xff51afd7ed558ccdU;
        mixed = (mixed ^ mixed >> 33U) * 0xc4ceb9fe1a85ec53U;
        return mixed ^ mixed >> 33U;
    }

    FreeBlock *root_ = nullptr;
};

} // namespace reap::inline REAP_MODE::detail
