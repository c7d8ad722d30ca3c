#pragma once

// Free memory: where it is recorded for reuse, and the coalescing of neighbours. Part of layer/reap.h.

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "reap/layer/reap.h"

namespace reap::inline REAP_MODE {

/// Frees any block except the last one, which was freed inline; also handles invalid addresses. Reads the
/// size from the block if the shadow does not have it.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::free_slow(void *object, std::size_t whole,
                                                   std::size_t alignment) noexcept {
    if (object == nullptr) return;
    auto *const block = static_cast<std::byte *>(object);
    if constexpr (told) {
        // A large one may still lie in a chunk that had the room.
        if (whole + alignment - unit > largest_in_chunk() && chunk_of(block, chunk_) == nullptr) whole = 0;
    } else {
        whole = Shadow::offset_of(block) == 0 ? 0 : Shadow::size_of(block);
    }
    if (whole == 0) return free_large(header_of(block));
    const bool is_unused = distance(current_, block) < distance(current_, end_); // it was the last one
    if (is_unused || (is_marked() && Shadow::is_free_block(block))) {
        // Detected by chance: memory that was coalesced or reused since cannot be recognized.
        report_misuse({Misuse::double_free, block, whole, name});
        return;
    }
    if (block + whole == current_) {
        current_ = block;
        return;
    }
    if (known().marks != nullptr) {
        count_free(block, whole);
    } else if (reuse_ == nullptr) {
        begin_reuse();
    }
    put_free(block, whole);
}

/// Frees an object that is not small, in the common case: its memory becomes a hole. Returns false otherwise;
/// then free_slow() does it.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
bool Reap<Upstream, Granule, Window, S>::free_long(FreeBlocks *reuse, Rare *rare, std::byte *block,
                                                   const std::byte *current, const std::byte *end) noexcept {
    if (reuse == nullptr || *Shadow::byte_of(block) != Shadow::is_long) return false;
    const std::size_t whole = Shadow::size_of(block);
    std::byte *const next = block + whole;
    const bool is_unused = distance(current, block) < distance(current, end);
    const bool is_last = next == current;
    const bool is_hole = whole != 0 && reinterpret_cast<std::uintptr_t>(next) % 16 == 0;
    if (is_unused || is_last || !is_hole) return false;
    Shadow::set_free(block, Shadow::is_free);
    rare->free_bytes += whole;
    FreeBlocks::push(PlainLinks<Reap>(), reuse->holes[FreeBlocks::magnitude_of(whole)], block);
    return true;
}

/// The rare state, from here on.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
detail::ReapState::Rare &Reap<Upstream, Granule, Window, S>::rare() noexcept {
    alone_ = nullptr; // a reset has more to check
    if (rare_ == nullptr) {
        const Chunk *oldest = chunk_;
        while (oldest->older != nullptr) oldest = oldest->older;
        auto *place = reinterpret_cast<Reserve *>(end_of(oldest));
        if constexpr (has_own_reserve)
            place = &own_reserve_.reserve;
        else
            annotate::undefined(place, sizeof(Reserve));
        rare_ = ::new (&place->rare) Rare;
    }
    return *rare_;
}

/// From the first free on: bins, and quanta.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::begin_reuse() noexcept {
    // Both lie in the reserve.
    static_assert(offsetof(Reserve, rare) == 0);
    reuse_ = ::new (&reinterpret_cast<Reserve *>(&rare())->free) FreeBlocks;
    if (!is_marked()) begin_marks();
    begin_quantum();
}

/// From here on the shadow marks everything free as free, and where sizes are told nothing about what lives.
/// Until then it has stale contents.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::begin_marks() noexcept {
    rare().marked = true;
    for (Chunk *chunk = chunk_; chunk != nullptr; chunk = chunk->older) {
        clear_shadow(chunk);
        if (chunk == chunk_) continue; // what is bumped through
        if (std::byte *const end = end_of(chunk); chunk->left != end)
            Shadow::set(chunk->left, distance(chunk->left, end), Shadow::is_free);
    }
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::clear_shadow(Chunk *chunk) noexcept {
    Shadow::clear(start_of(chunk), distance(start_of(chunk), end_of(chunk)));
}

/// Marks a piece of a chunk free, and records it for reuse if that is wanted. Holes end at a multiple of 16,
/// so that a gap at their end is where a gap may be.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::put_free(std::byte *block, std::size_t whole) noexcept {
    rare().free_bytes += whole;
    if (!is_marked()) begin_marks();
    if constexpr (told) Shadow::clear(block, whole);
    if (reuse_ == nullptr || whole < Shadow::least) return Shadow::set(block, whole, Shadow::is_free);
    const auto put_in_bin = [this](std::byte *small, std::size_t size) {
        note_in_bin(small, size);
        FreeBlocks::push(links_, reuse_->bins[Shadow::code_for(size)], small);
    };
    if (whole < FreeBlocks::smallest_hole) return put_in_bin(block, whole);
    if (unit < 16 && reinterpret_cast<std::uintptr_t>(block + whole) % 16 != 0) {
        constexpr std::size_t tail = Shadow::least + unit;
        whole -= tail;
        put_in_bin(block + whole, tail);
        if (whole < FreeBlocks::smallest_hole) return put_in_bin(block, whole);
    }
    Shadow::set(block, whole, Shadow::is_free);
    FreeBlocks::push(links_, reuse_->holes[FreeBlocks::magnitude_of(whole)], block);
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
bool Reap<Upstream, Granule, Window, S>::is_sweep_due() const noexcept {
    return reuse_ != nullptr && free_bytes() >= held_ / 4 && held_ >= rare_->sweep_at;
}

/// Coalesces free neighbours, and sets empty chunks aside. Walks over all blocks, and so must be worthwhile:
/// if little was gained, the next one waits until twice as much is held.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::sweep() noexcept {
    const HeldBack held_back(*this);
    forget_free();
    rare_->free_bytes = 0;
    std::size_t won = 0;
    for (Chunk **link = &chunk_; *link != nullptr;) {
        Chunk *const chunk = *link;
        std::byte *const end = end_of(chunk);
        std::byte *run = nullptr; // where the free blocks before `block` begin
        bool lives = false;       // whether anything in here is live
        const auto end_run = [&](std::byte *run_end) {
            if (run == nullptr) return;
            const std::size_t size = distance(run, run_end);
            if (size >= FreeBlocks::smallest_hole) won += size;
            put_free(std::exchange(run, nullptr), size);
        };
        std::byte *block = start_of(chunk);
        while (block != end) {
            if (block == current_ && current_ != end_) {
                if (run != nullptr) {
                    if constexpr (told) Shadow::clear(run, distance(run, current_));
                    current_ = std::exchange(run, nullptr);
                }
                block = end_;
                continue;
            }
            const std::size_t size = size_at(block, end);
            if (size == 0 || size > distance(block, end)) [[unlikely]] {
                // Nothing behind it can be known.
                report_misuse({Misuse::corruption, block, 0, name});
                break;
            }
            if (!Shadow::is_free_block(block)) {
                lives = true;
                end_run(block);
            } else if (run == nullptr) {
                run = block;
            }
            block += size;
        }
        if (!lives && block == end && chunk->older != nullptr) {
            *link = chunk->older;
            if (distance(chunk, current_) <= chunk->size) current_ = end_ = limit_ = nullptr;
            won += chunk->size;
            chunk->older = spare_;
            spare_ = chunk;
        } else {
            end_run(block);
            link = &chunk->older;
        }
    }
    rare_->sweep_at = won < held_ / 8 ? 2 * held_ : 0;
    keep_spare(held_ / 2);
}

/// Empties bins and holes. The blocks remain known to be free.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::forget_free() noexcept {
    if (reuse_ == nullptr) return;
    mark_bins(Shadow::is_free);
    if constexpr (checked) {
        // Links are cleared one by one, as when a block is taken.
        for (Block *&list : reuse_->bins)
            while (list != nullptr && is_sound(list, 0, true)) FreeBlocks::pop(links_, list);
        for (Block *&list : reuse_->holes)
            while (list != nullptr && is_sound(list, 0, true)) FreeBlocks::pop(links_, list);
    }
    rare_->free_bytes += reuse_->bytes;
    *reuse_ = FreeBlocks{};
}

/// Has the shadow mark blocks in bins as free, or no longer. Checked mode leaves out what follows an invalid
/// entry in a bin. In hardened mode the shadow always marks them.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::mark_bins(typename Shadow::Code free) const noexcept {
    if constexpr (hardened) return;
    for (std::size_t code = 0; code < FreeBlocks::small_codes; ++code) {
        for (Block *block = reuse_->bins[code]; block != nullptr;
             block = FreeBlocks::next_of(links_, block)) {
            if constexpr (checked) {
                if (!is_free_block(block, Shadow::size_for(code), free == 0)) break;
            }
            if (told && free == 0)
                *Shadow::byte_of(block) = 0;
            else
                Shadow::set(block, Shadow::size_for(code), free);
        }
    }
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
template <class Use>
void Reap<Upstream, Granule, Window, S>::purge(std::size_t least, Use use) noexcept
    requires(S == Sizes::kept)
{
    if (checked || reuse_ == nullptr) return;
    for (Block *const list : reuse_->holes) {
        for (Block *hole = list; hole != nullptr; hole = links_.next(hole)) {
            const std::size_t size = Shadow::size_of(hole);
            if (size >= least) use(static_cast<void *>(hole + 1), size - sizeof(Block));
        }
    }
}

/// A mark rewinds to what was free when it was taken, plus what was freed since of older objects.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::count_free(const void *block, std::size_t whole) noexcept {
    const Chunk *const chunk = chunk_of(block, chunk_);
    for (MarkRecord *record = known().marks; record != nullptr; record = record->older) {
        const bool newer = chunk == nullptr || chunk->serial >= record->serial ||
                           distance(record->current, block) < distance(record->current, record->end);
        if (newer) return;
        record->free_bytes += whole;
        CheckedSeal::set(*record);
    }
}

} // namespace reap::inline REAP_MODE
