#pragma once

// Inspection of a reap. Part of layer/reap.h.

#include <cstddef>
#include <cstdint>

#include "reap/core/size.h"
#include "reap/layer/reap.h"

namespace reap::inline REAP_MODE {

/// Calls use(block, size, free) for the blocks of a chunk, until it returns false; returns false then, or if
/// a block contradicts the shadow. Where sizes are told, live blocks come in stretches.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
template <class Use>
bool Reap<Upstream, Granule, Window, S>::walk(const Chunk *chunk, Use use) const {
    std::byte *const space = current_ == end_ ? nullptr : current_;
    std::byte *const space_end = end_;
    std::byte *const end = end_of(chunk);
    if (!is_marked()) {
        return chunk == chunk_ || chunk->left == end || use(chunk->left, distance(chunk->left, end), true);
    }
    for (std::byte *block = start_of(chunk); block != end;) {
        if (block == space) {
            block = space_end;
            continue;
        }
        const std::size_t size = size_at(block, end);
        if (size == 0 || size > distance(block, end)) return false;
        if (!use(block, size, Shadow::is_free_block(block))) return false;
        block += size;
    }
    return true;
}

/// The size of the block that begins here. Where sizes are told: or the length of the live stretch from here.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
std::size_t Reap<Upstream, Granule, Window, S>::size_at(const std::byte *block,
                                                        const std::byte *end) const noexcept {
    if constexpr (told) {
        if (current_ != end_ && distance(block, current_) < distance(block, end)) end = current_;
        if (const std::size_t live = Shadow::clear_from(block, distance(block, end)); live > 0) return live;
    }
    return Shadow::size_of(block);
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
template <class Use>
void Reap<Upstream, Granule, Window, S>::for_each(Use use)
    requires(S == Sizes::kept)
{
    if constexpr (checked) {
        if (!ledger_.verify(name)) return;
        for (const void *object = ledger_.newest(); object != nullptr;) {
            const void *const older = Ledger::older_than(object);
            use(const_cast<void *>(object), guard::size_of(object));
            object = older;
        }
        return;
    }
    {
        const MarkedBins marked{*this};
        for (const Chunk *chunk = chunk_; chunk != nullptr; chunk = chunk->older) {
            walk(chunk, [&](std::byte *block, std::size_t size, bool free) {
                if (!free && !is_record(block)) use(static_cast<void *>(block), size);
                return true;
            });
        }
    }
    for (Large *large = known().large; large != nullptr;) {
        Large *const older = large->older;
        if (!is_record(object_of(large))) use(static_cast<void *>(object_of(large)), large->size);
        large = older;
    }
}

/// Whether a mark's record is there, which is not an object of the caller.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
bool Reap<Upstream, Granule, Window, S>::is_record(const void *block) const noexcept {
    for (const MarkRecord *record = known().marks; record != nullptr; record = record->older)
        if (record == block) return true;
    return false;
}

/// The chunk of a list that contains the address.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
const typename Reap<Upstream, Granule, Window, S>::Chunk *
Reap<Upstream, Granule, Window, S>::chunk_of(const void *address, const Chunk *list) noexcept {
    while (list != nullptr && CheckedSeal::holds(*list)) {
        if (distance(start_of(list), address) < list->size - chunk_lead) return list;
        list = list->older;
    }
    return nullptr;
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
const typename Reap<Upstream, Granule, Window, S>::Large *
Reap<Upstream, Granule, Window, S>::large_of(const void *address) const noexcept {
    const Large *large = known().large;
    while (large != nullptr && CheckedSeal::holds(*large)) {
        if (distance(large + 1, address) < large->size) return large;
        large = large->older;
    }
    return nullptr;
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
ReapStatistics Reap<Upstream, Granule, Window, S>::statistics() const noexcept {
    ReapStatistics found;
    found.held = held_;
    if (!is_sealed()) return found;
    found.free = free_bytes() + distance(current_, end_);
    found.largest_hole = distance(current_, end_);
    for (const Chunk *chunk = chunk_; chunk != nullptr; chunk = chunk->older, ++found.chunks)
        found.live += distance(start_of(chunk), end_of(chunk));
    found.live -= found.free;
    for (const Chunk *chunk = spare_; chunk != nullptr; chunk = chunk->older, ++found.chunks)
        found.spare += chunk->size;
    for (const Large *large = known().large; large != nullptr; large = large->older, ++found.large_objects)
        found.live += large->size;
    if (reuse_ == nullptr) return found;
    for (Block *hole : reuse_->holes) {
        for (; hole != nullptr; hole = FreeBlocks::next_of(links_, hole))
            found.largest_hole = detail::max(found.largest_hole, Shadow::size_of(hole));
    }
    return found;
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
bool Reap<Upstream, Granule, Window, S>::check() const noexcept {
    if (!is_sealed()) return report_corruption();
    for (const Cleanup *cleanup = known().cleanups; cleanup != nullptr; cleanup = cleanup->older)
        if (!CodeSeal::holds(*cleanup)) return report_corruption();
    bool good = ledger_.verify(name);
    std::size_t held = 0;
    std::size_t free = 0;
    std::size_t blocks = 0; // free ones
    std::size_t most = 0;   // maximum number of blocks
    for (const Chunk *chunk = chunk_; chunk != nullptr && held <= held_; chunk = chunk->older)
        held += chunk->size;
    most = held / unit;
    if (held > held_) return report_corruption(); // the list is circular, or leads nowhere
    if constexpr (hardened) good &= check_quarantine();
    if (reuse_ != nullptr) {
        for (std::size_t code = 0; code < FreeBlocks::small_codes && good; ++code)
            good &= check_list(reuse_->bins[code], Shadow::size_for(code), most);
        for (std::size_t number = 0; number < FreeBlocks::magnitudes && good; ++number)
            good &= check_list(reuse_->holes[number], 0, most);
        if (!good) return report_corruption();
    }
    {
        const MarkedBins marked{*this};
        for (const Chunk *chunk = chunk_; chunk != nullptr; chunk = chunk->older) {
            good &= walk(chunk, [&](const std::byte *, std::size_t size, bool is_free) {
                free += is_free ? size : 0;
                blocks += is_free && size >= Shadow::least;
                return true;
            });
        }
    }
    if (reuse_ != nullptr) good &= held / unit - most <= blocks;
    for (const Chunk *chunk = spare_; chunk != nullptr && held <= held_; chunk = chunk->older)
        held += chunk->size;
    for (const Large *large = known().large; large != nullptr && held <= held_; large = large->older) {
        held += large->lead + large->size;
        good &= large->older == nullptr || large->older->newer == large;
    }
    good &= held == held_ && free == free_bytes();
    if constexpr (checked) {
        for (const void *object = ledger_.newest(); object != nullptr && good;
             object = Ledger::older_than(object))
            good &= is_in_shadow(object);
    }
    return good || report_corruption();
}

/// Returns false.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
bool Reap<Upstream, Granule, Window, S>::report_corruption() const noexcept {
    if constexpr (checked) report_misuse({Misuse::corruption, this, 0, name});
    return false;
}

/// Whether all entries of a list are free blocks of that size (0: any). No list has more entries than there
/// are blocks.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
bool Reap<Upstream, Granule, Window, S>::check_list(Block *block, std::size_t whole,
                                                    std::size_t &blocks) const noexcept {
    for (; block != nullptr; block = FreeBlocks::next_of(links_, block)) {
        if (blocks-- == 0 || !is_free_block(block, whole, hardened || whole == 0) || !links_.is_valid(block))
            return false;
    }
    return true;
}

/// Whether this can be a free block of that size (0: any), correctly marked in the shadow. Reads only memory
/// of the reap.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
bool Reap<Upstream, Granule, Window, S>::is_free_block(const void *block, std::size_t whole,
                                                       bool marked) const noexcept {
    return chunk_of(block, chunk_) != nullptr && reinterpret_cast<std::uintptr_t>(block) % unit == 0 &&
           (told && !marked
                ? *Shadow::byte_of(block) == 0
                : Shadow::is_free_block(block) == marked && (whole == 0 || Shadow::size_of(block) == whole));
}

} // namespace reap::inline REAP_MODE
