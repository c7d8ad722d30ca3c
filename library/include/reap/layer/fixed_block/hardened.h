#pragma once

// Hardened mode: allocated blocks are recorded, and freed ones wait. Part of layer/fixed_block.h.

#include <cstddef>
#include <cstring>
#include <new>

#include "reap/core/annotate.h"
#include "reap/core/misuse.h"
#include "reap/layer/fixed_block.h"

namespace reap::inline REAP_MODE {

// Both are hidden from memory-checking tools, since the address may be anybody's; what they call is not.

template <Source Upstream>
#if REAP_ASAN
[[gnu::no_sanitize_address]]
#endif
const FixedBlock<Upstream> *FixedBlock<Upstream>::owner_by(const void *address,
                                                           std::size_t slab_size) noexcept {
    return slab_of(const_cast<void *>(address), slab_size)->owner;
}

template <Source Upstream>
#if REAP_ASAN
[[gnu::no_sanitize_address]]
#endif
bool FixedBlock<Upstream>::is_sealed(const void *address, std::size_t slab_size, const void *home) noexcept {
    if constexpr (hardened) {
        const Slab *const slab = slab_of(const_cast<void *>(address), slab_size);
        return slab->seal.word == Slab::WithSecret::word_for(slab, slab->owner, home);
    }
    return true;
}

template <Source Upstream>
const void *FixedBlock<Upstream>::pool_of(const void *address) const noexcept {
    if (!links_.covers(address)) return nullptr;
    const FixedBlock *const owner = owner_by(address, slab_size_);
    return owner != this && is_sealed(address, slab_size_, owner) ? owner : nullptr;
}

template <Source Upstream>
bool FixedBlock<Upstream>::find_place(void *address, Place &place) const noexcept {
    Slab *const slab = slab_of(address, slab_size_);
    const auto offset = static_cast<std::size_t>(static_cast<std::byte *>(address) - blocks_of(slab));
    if (offset >= slab_size_) return false; // in front of the first block
    // As in spill(); exact where a block begins.
    const std::size_t number = offset * inverse_ >> 32U;
    if (number * stride_ != offset || number >= capacity_) return false;
    place = {slab->bitmap() + words() + number / 64, std::uint64_t{1} << number % 64};
    return true;
}

/// Whether the mark that was written into a block when it was freed is intact.
template <Source Upstream>
bool FixedBlock<Upstream>::is_untouched(const void *block) const noexcept {
    return links_.is_last(static_cast<const Kept *>(block));
}

template <Source Upstream>
template <class Otherwise>
void *FixedBlock<Upstream>::serve_hardened(Otherwise otherwise) {
    for (;;) {
        void *const block = take(otherwise);
        if (block == nullptr) return nullptr;
        Place place{};
        if (!find_place(block, place) || (*place.word & place.bit) != 0) [[unlikely]] {
            report_misuse({Misuse::corruption, block, block_size_, name});
            continue;
        }
        // A block from the run may never have been freed.
        if (static_cast<std::byte *>(block) + stride_ != run_) {
            if (!is_untouched(block)) [[unlikely]] {
                report_misuse({Misuse::use_after_free, block, block_size_, name});
                continue;
            }
            ::new (block) Kept{nullptr};
        }
        *place.word |= place.bit;
        return block;
    }
}

template <Source Upstream>
void FixedBlock<Upstream>::retire(void *block, const char *layer) noexcept {
    if (!holds(block)) [[unlikely]]
        return report_misuse({Misuse::foreign_free, block, 0, layer, pool_of(block)});
    retire_held(block, layer);
}

template <Source Upstream>
void FixedBlock<Upstream>::retire_held(void *block, const char *layer) noexcept {
    Place place{};
    if (!find_place(block, place)) [[unlikely]]
        return report_misuse({Misuse::interior_free, block, block_size_, layer});
    if ((*place.word & place.bit) == 0) [[unlikely]]
        return report_misuse({Misuse::double_free, block, block_size_, layer});
    *place.word &= ~place.bit;
    annotate::ended(block, block_size_);
    links_.template make<Kept>(block, nullptr);
    if (void *const oldest = quarantine_.exchange(block); oldest != nullptr) put(oldest);
}

/// Before all blocks are freed: none is allocated any more, and no slab is a pool's until it is carved again.
template <Source Upstream>
void FixedBlock<Upstream>::end_hardened(bool keeps_chunks) noexcept {
    quarantine_.drain([this](void *block) {
        if (!is_untouched(block)) report_misuse({Misuse::use_after_free, block, block_size_, name});
    });
    for (Slab *chunk = chunk_; chunk != nullptr; chunk = chunk->older) {
        auto *at = reinterpret_cast<std::byte *>(chunk);
        const std::byte *const end = chunk == chunk_ ? carve_ : at + chunk->size;
        for (; at != end; at += slab_size_) {
            auto *const slab = reinterpret_cast<Slab *>(at);
            slab->seal.clear();
            if (keeps_chunks) std::memset(slab->bitmap() + words(), 0, bitmap_size());
        }
    }
}

} // namespace reap::inline REAP_MODE
