#pragma once

#include <bit>
#include <cstddef>
#include <new>

#include "reap/core/annotate.h"
#include "reap/core/guard.h"
#include "reap/core/mode.h"

namespace reap::inline REAP_MODE::detail {

/// The free blocks of a reap: small ones in bins by exact size, and holes, which are long enough to be bumped
/// through, by order of magnitude. The links are in the blocks. The size of a block is in the shadow, and so
/// is whether a hole is free; blocks in bins are marked free only when the bins are emptied, so that putting
/// and taking them need not touch the shadow.
struct FreeBlocks {
    struct Block {
        Block *next;
    };
    static constexpr std::size_t smallest_hole = 512;
    static constexpr std::size_t small_codes = 126;
    static constexpr std::size_t magnitudes = 22;

    Block *bins[small_codes] = {}; // by their code in the shadow
    Block *holes[magnitudes] = {}; // from 512 B on, by powers of two
    std::size_t bytes = 0; // put into bins inline, less those taken: counted here, where it is at hand
    unsigned misses = 0;   // how often a bin was empty since bins are tried first; in_quantum: they are not

    static constexpr unsigned most_misses = 16;
    static constexpr unsigned in_quantum = ~0U;

    [[nodiscard]] static std::size_t magnitude_of(std::size_t size) noexcept {
        return static_cast<std::size_t>(std::bit_width(size / smallest_hole)) - 1;
    }

    /// In checked mode free blocks are poisoned, and their fill is verified when they are reused; popping a
    /// block therefore restores the fill where the link was.
    template <class L>
    [[nodiscard]] static Block *next_of(const L &links, Block *block) noexcept {
        annotate::defined(block, sizeof *block);
        Block *const next = links.next(block);
        annotate::no_access(block, sizeof *block);
        return next;
    }
    template <class L>
    static void push(const L &links, Block *&list, void *block) noexcept {
        annotate::undefined(block, sizeof(Block));
        list = links.make(block, list);
        annotate::no_access(block, sizeof(Block));
    }
    template <class L>
    static Block *pop(const L &links, Block *&list) noexcept {
        Block *const block = list;
        list = next_of(links, block);
        forget_link(block);
        return block;
    }
    /// Links a list to `next`: behind the block `before`, or if that is null, at its head.
    template <class L>
    static void lead(const L &links, Block *&list, Block *before, Block *next) noexcept {
        if (before == nullptr) {
            list = next;
            return;
        }
        annotate::undefined(before, sizeof *before);
        links.make(before, next);
        annotate::no_access(before, sizeof *before);
    }
    /// In hardened mode the program must not find in an object what a link looks like.
    static void forget_link(void *block) noexcept {
        if constexpr (checked) guard::close(block, sizeof(Block), guard::Fill::freed);
        if constexpr (hardened) ::new (block) Block{nullptr};
    }
};

} // namespace reap::inline REAP_MODE::detail
