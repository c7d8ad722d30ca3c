#pragma once

#include <bit>
#include <cstddef>
#include <new>

#include "reap/core/annotate.h"
#include "reap/core/guard.h"
#include "reap/core/mode.h"

namespace reap::inline REAP_MODE::detail {

/// Where a reap finds its free blocks again: small ones by their exact size, and holes, which are long enough
/// to be bumped through, by the magnitude of theirs. The links are in the blocks. How large a block is, the
/// shadow says, and of holes also that they are free; of blocks in bins only when the bins are emptied, so
/// that their coming and going need not touch it.
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
    unsigned misses = 0; // how often a bin was empty since bins are looked at first; in_quantum: they are not

    static constexpr unsigned most_misses = 16;
    static constexpr unsigned in_quantum = ~0U;

    [[nodiscard]] static std::size_t magnitude_of(std::size_t size) noexcept {
        return static_cast<std::size_t>(std::bit_width(size / smallest_hole)) - 1;
    }

    /// In checked mode free blocks are closed to the program; and what they are filled with is looked at when
    /// they are used again, so a link goes as it came.
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
    /// Has a list go on at `next`: behind the block `before`, or if that is null, from its beginning.
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
    /// In hardened mode the program does not find in an object what a link looks like.
    static void forget_link(void *block) noexcept {
        if constexpr (checked) guard::close(block, sizeof(Block), guard::Fill::freed);
        if constexpr (hardened) ::new (block) Block{nullptr};
    }
};

} // namespace reap::inline REAP_MODE::detail
