#pragma once

// What a reap does out of line: where room comes from, what happens to what is free, and the ends of things.
// Part of layer/reap.h.

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

#include "reap/layer/reap.h"

namespace reap::inline REAP_MODE {

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
template <Failure F>
typename Reap<Upstream, Granule, Window, S>::Taken
Reap<Upstream, Granule, Window, S>::serve(std::size_t size, std::size_t alignment) {
    if (!is_possible(size, alignment, Window) || alignment > largest_alignment) return {fail<F>(), current_};
    if constexpr (is_owned) {
        static_assert(!told, "what comes back from other threads comes without its size");
        chunks_.take_returned([this](void *object) { deallocate(object); });
    }
    size += size == 0;
    alignment = std::max(alignment, unit);
    const std::size_t whole = Shadow::block_for(size);
    void *const object = serve_block<F>(size, whole, alignment);
    return {object, current_};
}

/// In this order: what is free; what is free when neighbours are merged, if that is worth it; a new chunk;
/// and where there is none, merging in any case.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
template <Failure F>
void *Reap<Upstream, Granule, Window, S>::serve_block(std::size_t size, std::size_t whole,
                                                      std::size_t alignment) {
    const std::size_t need = whole + alignment - unit;
    if (need > largest_in_chunk()) return take_large<F>(size, alignment);

    if (void *const object = find_free(whole, alignment); object != nullptr) return object;
    if (is_sweep_due()) {
        sweep();
        if (void *const object = find_free(whole, alignment); object != nullptr) return object;
        if (spare_ == nullptr) rare_->sweep_at = std::max(rare_->sweep_at, held_ + held_ / 4);
    }
    if (reuse_ != nullptr && free_bytes() >= whole) {
        if (!take_chunk<Failure::returns_null>(need)) {
            sweep();
            if (void *const object = find_free(whole, alignment); object != nullptr) return object;
            if (void *const object = take_from_bins(whole, alignment); object != nullptr) return object;
            if (!take_chunk<F>(need)) return nullptr;
        }
    } else if (!take_chunk<F>(need)) {
        return nullptr;
    }
    if (has_runs()) {
        if (reuse_ == nullptr) begin_reuse();
        if (whole <= Shadow::largest_small && alignment == unit) return take_run(Shadow::code_for(whole));
    }
    return take_from_space(whole, alignment);
}

/// What there is room for without a new chunk.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void *Reap<Upstream, Granule, Window, S>::find_free(std::size_t whole, std::size_t alignment) noexcept {
    if (reuse_ == nullptr) return take_from_space(whole, alignment);
    const bool usual = whole <= Shadow::largest_small && alignment == unit;
    if (usual) {
        const std::size_t code = Shadow::code_for(whole);
        // The quantum is used up: from here on, what is free is looked at first.
        if (reuse_->misses == FreeBlocks::in_quantum) reuse_->misses = 0;
        limit_ = current_;
        if (has_free(code)) return take_free(code);
        if (has_runs()) {
            if (void *const object = take_run(code); object != nullptr) return object;
        } else if (++reuse_->misses >= FreeBlocks::most_misses) {
            begin_quantum();
        }
    }
    if (void *const object = take_from_space(whole, alignment); object != nullptr) return object;
    if (!usual) return take_from_hole(whole, alignment);

    std::byte *const hole = find_hole(whole);
    if (hole == nullptr) return nullptr;
    const std::size_t size = Shadow::size_of(hole);
    if constexpr (told) Shadow::clear(hole, FreeBlocks::smallest_hole);
    enter_space(hole, hole + size);
    begin_quantum();
    if (has_runs()) return take_run(Shadow::code_for(whole));
    return take_from_space(whole, alignment);
}

/// The first of a few blocks of the same size, side by side, out of the space that is bumped through; the
/// others are free. Null if there is no room for one.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void *Reap<Upstream, Granule, Window, S>::take_run(std::size_t code) noexcept {
    const std::size_t whole = Shadow::size_for(code);
    const std::size_t room = distance(current_, end_);
    if (room < whole) return nullptr;
    const std::size_t run = std::min({held_ / 64, options_->largest_run, room});
    std::byte *const first = current_;
    current_ += std::max(run - run % whole, whole);
    // From the last to the first, which are used from the first on.
    Block *&bin = reuse_->bins[code];
    for (std::byte *block = current_ - whole; block != first; block -= whole) {
        note(block, whole);
        FreeBlocks::push(bin, block);
    }
    reuse_->bytes += distance(first, current_) - whole;
    note(first, whole);
    limit_ = current_;
    return first;
}

/// A block out of the space that is bumped through, if it has room. What lies before it for the alignment's
/// sake is free.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void *Reap<Upstream, Granule, Window, S>::take_from_space(std::size_t whole, std::size_t alignment) noexcept {
    const std::size_t padding = padding_at(current_, alignment);
    const std::size_t room = distance(current_, end_);
    if (padding > room || whole > room - padding) return nullptr;
    if (padding > 0) put_free(current_, padding);
    std::byte *const block = current_ + padding;
    note(block, whole);
    current_ = block + whole;
    limit_ = std::max(limit_, current_);
    return block;
}

/// The same out of a hole.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void *Reap<Upstream, Granule, Window, S>::take_from_hole(std::size_t whole, std::size_t alignment) noexcept {
    std::byte *const hole = find_hole(whole + alignment - unit);
    if (hole == nullptr) return nullptr;
    const std::size_t size = Shadow::size_of(hole);
    const std::size_t padding = padding_at(hole, alignment);
    if constexpr (told) Shadow::clear(hole, FreeBlocks::smallest_hole);
    if (padding > 0) put_free(hole, padding);
    std::byte *const block = hole + padding;
    if (padding + whole < size) put_free(block + whole, size - padding - whole);
    note(block, whole);
    return block;
}

/// The same out of a bin with larger blocks: where nothing else is left. What remains must not be a gap,
/// which could be at the wrong place.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void *Reap<Upstream, Granule, Window, S>::take_from_bins(std::size_t whole, std::size_t alignment) noexcept {
    const std::size_t need = whole + alignment - unit + Shadow::least;
    for (std::size_t code = Shadow::code_for(need); code <= Shadow::last_small; ++code) {
        if (!has_free(code)) continue;
        const std::size_t size = Shadow::size_for(code);
        auto *const found = static_cast<std::byte *>(take_free(code));
        const std::size_t padding = padding_at(found, alignment);
        if (padding > 0) put_free(found, padding);
        std::byte *const block = found + padding;
        put_free(block + whole, size - padding - whole);
        note(block, whole);
        return block;
    }
    return nullptr;
}

/// A hole of `need` bytes at least, taken off its list. Among those of the same magnitude a few are looked
/// at; any of a larger one will do.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
std::byte *Reap<Upstream, Granule, Window, S>::find_hole(std::size_t need) noexcept {
    constexpr int tries = 8;
    need = std::max(need, FreeBlocks::smallest_hole);
    for (std::size_t magnitude = FreeBlocks::magnitude_of(need); magnitude < FreeBlocks::magnitudes;
         ++magnitude) {
        Block *&list = reuse_->holes[magnitude];
        Block *before = nullptr;
        for (int tried = 0; tried < tries; ++tried) {
            Block *const hole = before == nullptr ? list : FreeBlocks::next_of(before);
            if (hole == nullptr) break;
            if constexpr (checked) {
                if (!is_free_block(hole, 0, true)) {
                    report_misuse({Misuse::corruption, hole, 0, name});
                    FreeBlocks::lead(list, before, nullptr);
                    break;
                }
            }
            const std::size_t size = Shadow::size_of(hole);
            if (size >= need) {
                FreeBlocks::lead(list, before, FreeBlocks::next_of(hole));
                FreeBlocks::forget_link(hole);
                rare_->free_bytes -= size;
                return reinterpret_cast<std::byte *>(hole);
            }
            before = hole;
        }
    }
    return nullptr;
}

/// Makes this what is bumped through. What is left of the one before is free.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::enter_space(std::byte *start, std::byte *end) noexcept {
    std::byte *const left = std::exchange(current_, start);
    std::byte *const left_end = std::exchange(end_, end);
    if (left != left_end) put_free(left, distance(left, left_end));
    if constexpr (!told) shadow_ = Shadow::bias_of(start);
    limit_ = reuse_ == nullptr ? end : start;
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::begin_quantum() noexcept {
    if (has_runs()) {
        reuse_->misses = FreeBlocks::most_misses; // bins are looked at first, always
        limit_ = current_;
        return;
    }
    reuse_->misses = FreeBlocks::in_quantum;
    limit_ = current_ + std::min(quantum, distance(current_, end_));
}

/// Objects that need more have memory of their own. A small object is where a free that is told its size
/// believes it to be.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
std::size_t Reap<Upstream, Granule, Window, S>::largest_in_chunk() const noexcept {
    return std::max(std::min(options_->large_object, Window / 4), Shadow::largest_small);
}

/// Has the shadow say how large an object is, if it says that.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::note(std::byte *block, std::size_t whole) noexcept {
    if constexpr (told)
        *Shadow::byte_of(block) = 0;
    else
        Shadow::set(block, whole, 0);
}

/// From here on the shadow says of all that is free that it is, where sizes are told: of what lives, nothing.
/// Until then it is as somebody left it.
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

/// Says of a piece of a chunk that it is free, and puts it where it is found again, if that is wanted. Holes
/// end at a multiple of 16, so that a gap at their end is where a gap may be.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::put_free(std::byte *block, std::size_t whole) noexcept {
    rare().free_bytes += whole;
    if (!is_marked()) begin_marks();
    if constexpr (told) Shadow::clear(block, whole);
    if (reuse_ == nullptr || whole < Shadow::least) return Shadow::set(block, whole, Shadow::is_free);
    const auto put_in_bin = [this](std::byte *small, std::size_t size) {
        note(small, size);
        FreeBlocks::push(reuse_->bins[Shadow::code_for(size)], small);
    };
    if (whole < FreeBlocks::smallest_hole) return put_in_bin(block, whole);
    if (unit < 16 && reinterpret_cast<std::uintptr_t>(block + whole) % 16 != 0) {
        constexpr std::size_t tail = Shadow::least + unit;
        whole -= tail;
        put_in_bin(block + whole, tail);
        if (whole < FreeBlocks::smallest_hole) return put_in_bin(block, whole);
    }
    Shadow::set(block, whole, Shadow::is_free);
    FreeBlocks::push(reuse_->holes[FreeBlocks::magnitude_of(whole)], block);
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
bool Reap<Upstream, Granule, Window, S>::is_sweep_due() const noexcept {
    return reuse_ != nullptr && free_bytes() >= held_ / 4 && held_ >= rare_->sweep_at;
}

/// Merges neighbours that are free, and puts chunks aside that nothing is in. Walks over all blocks, and so
/// must be worth it: if little was won, the next one waits until twice as much is held.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::sweep() noexcept {
    forget_free();
    rare_->free_bytes = 0;
    std::size_t won = 0;
    for (Chunk **link = &chunk_; *link != nullptr;) {
        Chunk *const chunk = *link;
        std::byte *const end = end_of(chunk);
        std::byte *run = nullptr; // where the free blocks before `block` begin
        bool lives = false;       // whether anything in here does
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

/// Empties bins and holes. That blocks are free is still known.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::forget_free() noexcept {
    if (reuse_ == nullptr) return;
    mark_bins(Shadow::is_free);
    if constexpr (checked) {
        // The links go as they came.
        for (Block *&list : reuse_->bins)
            while (list != nullptr && is_sound(list, 0, true)) FreeBlocks::pop(list);
        for (Block *&list : reuse_->holes)
            while (list != nullptr && is_sound(list, 0, true)) FreeBlocks::pop(list);
    }
    rare_->free_bytes += reuse_->bytes;
    *reuse_ = FreeBlocks{};
}

/// Has the shadow say of blocks in bins that they are free, or no longer. Checked mode leaves out what is
/// behind something else in a bin.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::mark_bins(typename Shadow::Code free) const noexcept {
    for (std::size_t code = 0; code < FreeBlocks::small_codes; ++code) {
        for (Block *block = reuse_->bins[code]; block != nullptr; block = FreeBlocks::next_of(block)) {
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
template <Failure F>
bool Reap<Upstream, Granule, Window, S>::take_chunk(std::size_t need) {
    const std::size_t least = Superblocks<Upstream, Window>::chunk_for(chunk_lead + round_up(need, 16) +
                                                                       (chunk_ == nullptr ? reserve : 0));
    if (Chunk **const largest = largest_of(spare_); *largest != nullptr && least <= (*largest)->size) {
        Chunk *const chunk = *largest;
        *largest = chunk->older;
        enter(chunk);
        return true;
    }
    const std::size_t allowed = options_->limit - std::min(options_->limit, held_);
    if (least > allowed) return fail<F>() != nullptr;
    // The row goes on from the latest chunk; that one may be larger for the sake of one object.
    std::size_t next = options_->first_chunk;
    if (chunk_ != nullptr &&
        (__builtin_mul_overflow(chunk_->size, options_->growth, &next) || next > options_->largest_chunk)) {
        next = options_->largest_chunk;
    }
    const std::size_t wanted = std::bit_floor(std::min(std::clamp(next, least, Window / 2), allowed));
    const Allocation got = chunk_source().template obtain_chunk<F>(least, std::max(least, wanted));
    if (got.data == nullptr) return false;
    adopt(got);
    return true;
}

/// The largest chunk of a list, by what points to it.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
typename Reap<Upstream, Granule, Window, S>::Chunk **
Reap<Upstream, Granule, Window, S>::largest_of(Chunk *&list) noexcept {
    Chunk **largest = &list;
    for (Chunk **link = &list; *link != nullptr; link = &(*link)->older)
        if ((*link)->size > (*largest)->size) largest = link;
    return largest;
}

/// Makes memory from the source the current chunk.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
inline void Reap<Upstream, Granule, Window, S>::adopt(Allocation got) noexcept {
    held_ += got.size;
    Chunk *const chunk = ::new (got.data) Chunk{nullptr, 0, got.size, nullptr};
    if constexpr (checked) guard::close(start_of(chunk), got.size - chunk_lead, guard::Fill::fresh);
    enter(chunk);
}

/// Makes a chunk the current one. The oldest has room for bins at its end: so there is some when the first
/// object is freed.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
inline void Reap<Upstream, Granule, Window, S>::enter(Chunk *chunk) noexcept {
    const bool first = chunk_ == nullptr;
    if constexpr (told) {
        if (!known().marked && !first) {
            // Nothing is free yet but what is left over: no reason to begin with marks.
            chunk_->left = current_;
            if (current_ != end_) rare().free_bytes += distance(current_, end_);
            current_ = end_;
        }
    }
    chunk->older = chunk_;
    chunk->serial = known().marks == nullptr ? 0 : known().marks->serial;
    chunk_ = chunk;
    if (told && known().marked) clear_shadow(chunk);
    enter_space(start_of(chunk), end_of(chunk));
    if (reuse_ != nullptr) begin_quantum();
    alone_ = !checked && first ? current_ : nullptr;
}

/// Gives a chunk back to the source.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::leave(Chunk *chunk) noexcept {
    if constexpr (checked) guard::open(start_of(chunk), chunk->size - chunk_lead, name);
    held_ -= chunk->size;
    chunks_.deallocate(chunk, chunk->size, chunk_alignment);
}

/// Gives spare chunks back, until at most so many bytes are left.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::keep_spare(std::size_t most) noexcept {
    for (Chunk **link = &spare_; *link != nullptr;) {
        Chunk *const chunk = *link;
        if (chunk->size <= most) {
            most -= most == keep_all ? 0 : chunk->size;
            link = &chunk->older;
        } else {
            *link = chunk->older;
            leave(chunk);
        }
    }
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
template <Failure F>
void *Reap<Upstream, Granule, Window, S>::take_large(std::size_t size, std::size_t alignment) {
    const std::size_t lead = std::max(large_lead, alignment);
    const std::size_t whole = round_up(size, unit);
    alignment = std::max(alignment, Window);
    const std::size_t allowed =
        options_->limit -
        std::min(options_->limit, held_ + (chunk_ == nullptr ? Superblocks<Upstream, Window>::smallest : 0));
    if (!is_possible(whole, alignment, lead) || lead + whole > allowed) return fail<F>();
    // Where the list begins, is in a chunk.
    if (chunk_ == nullptr && !take_chunk<F>(0)) return nullptr;
    auto *const data = static_cast<std::byte *>(obtain<F>(chunks_, lead + whole, alignment));
    if (data == nullptr) return nullptr;
    std::byte *const object = data + lead;
    if (Shadow::offset_of(object) != 0) Shadow::set_large(object);
    held_ += lead + whole;
    const std::uint64_t serial = known().marks == nullptr ? 0 : known().marks->serial;
    Large *const older = known().large;
    rare().large = ::new (header_of(object)) Large{older, nullptr, whole, alignment, lead, serial};
    if (older != nullptr) older->newer = rare_->large;
    if constexpr (checked) guard::close(object, whole, guard::Fill::fresh);
    return object;
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::free_large(Large *large) noexcept {
    if (large->newer == nullptr)
        rare_->large = large->older;
    else
        large->newer->older = large->older;
    if (large->older != nullptr) large->older->newer = large->newer;
    const std::size_t size = large->lead + large->size;
    const std::size_t alignment = large->alignment;
    std::byte *const data = object_of(large) - large->lead;
    annotate::defined(data, size);
    held_ -= size;
    chunks_.deallocate(data, size, alignment);
}

/// Frees any block but the last one, which was given back inline; and what is none. The size is looked at
/// where the shadow does not say it.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::free_anyhow(void *object, std::size_t whole,
                                                     std::size_t alignment) noexcept {
    if (object == nullptr) return;
    auto *const block = static_cast<std::byte *>(object);
    if constexpr (told) {
        // One that is large may yet be in a chunk that had the room.
        if (whole + alignment - unit > largest_in_chunk() && chunk_of(block, chunk_) == nullptr) whole = 0;
    } else {
        whole = Shadow::offset_of(block) == 0 ? 0 : Shadow::size_of(block);
    }
    if (whole == 0) return free_large(header_of(block));
    if (is_marked() && Shadow::is_free_block(block)) {
        // Seen by chance: what was merged or used again since cannot be told.
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

/// What is rare, from here on.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
detail::ReapState::Rare &Reap<Upstream, Granule, Window, S>::rare() noexcept {
    alone_ = nullptr; // a reset has more to look at
    if (rare_ == nullptr) {
        const Chunk *oldest = chunk_;
        while (oldest->older != nullptr) oldest = oldest->older;
        annotate::undefined(end_of(oldest), sizeof(Reserve));
        rare_ = ::new (&reinterpret_cast<Reserve *>(end_of(oldest))->rare) Rare;
    }
    return *rare_;
}

/// From the first free on: bins, and quanta.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::begin_reuse() noexcept {
    // Both are where the reserve is.
    static_assert(offsetof(Reserve, rare) == 0);
    reuse_ = ::new (&reinterpret_cast<Reserve *>(&rare())->free) FreeBlocks;
    if (!is_marked()) begin_marks();
    begin_quantum();
}

/// A mark comes back to what was free when it was taken, and what was freed since of what is older.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::count_free(const void *block, std::size_t whole) noexcept {
    const Chunk *const chunk = chunk_of(block, chunk_);
    for (MarkRecord *record = known().marks; record != nullptr; record = record->older) {
        const bool newer = chunk == nullptr || chunk->serial >= record->serial ||
                           distance(record->current, block) < distance(record->current, record->end);
        if (newer) return;
        record->free_bytes += whole;
    }
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
typename Reap<Upstream, Granule, Window, S>::Mark Reap<Upstream, Granule, Window, S>::mark() {
    // What is free stays so: it is older than the mark, and what comes now is newer.
    forget_free();
    reuse_ = nullptr;
    limit_ = end_;
    void *const data = take<Failure::throws>(sizeof(MarkRecord), unit);
    if (reuse_ != nullptr) { // a new chunk, and runs
        forget_free();
        reuse_ = nullptr;
        limit_ = end_;
    }
    if constexpr (checked) guard::open(data, sizeof(MarkRecord), name);
    rare().marks = ::new (data) MarkRecord{known().marks,    ++marks_taken_,     current_,        end_,
                                           known().cleanups, known().free_bytes, ledger_.newest()};
    Mark mark;
    mark.record_ = rare_->marks;
    mark.serial_ = rare_->marks->serial;
    return mark;
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
bool Reap<Upstream, Granule, Window, S>::rewind(const Mark &mark) noexcept {
    // As in Region: no record is looked at but those of marks that are still good.
    MarkRecord *record = known().marks;
    while (record != nullptr && record->serial > mark.serial_) record = record->older;
    if (record == nullptr || record != mark.record_ || record->serial != mark.serial_) {
        if constexpr (checked) report_misuse({Misuse::stale_mark, mark.record_, 0, name});
        return false;
    }
    run_cleanups(record->cleanups);
    out_of_line([record](Reap &reap) { return reap.rewind_anyhow(record), true; });
    return true;
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::rewind_anyhow(MarkRecord *record) noexcept {
    ledger_.end_newer_than(record->newest, name);
    if constexpr (checked) {
        if (!is_marked()) begin_marks();
    }
    while (rare_->large != nullptr && rare_->large->serial >= record->serial) free_large(rare_->large);
    while (chunk_ != nullptr && chunk_->serial >= record->serial) {
        if constexpr (checked) {
            open_free(chunk_);
            guard::close(start_of(chunk_), chunk_->size - chunk_lead, guard::Fill::rewound);
        }
        Chunk *const chunk = std::exchange(chunk_, chunk_->older);
        chunk->older = spare_;
        spare_ = chunk;
    }
    rare_->marks = record;
    rare_->free_bytes = record->free_bytes;
    current_ = record->current;
    end_ = record->end;
    limit_ = end_;
    if constexpr (told) {
        if (rare_->marked) Shadow::clear(current_, distance(current_, end_));
    } else if (current_ != nullptr) {
        shadow_ = Shadow::bias_of(current_);
    }
    if constexpr (checked) {
        if (current_ != end_) guard::close(current_, distance(current_, end_), guard::Fill::rewound);
    }
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::reset_anyhow(std::size_t keep) noexcept {
    ledger_.end_newer_than(nullptr, name);
    if constexpr (checked) {
        forget_free();
        if (!is_marked() && chunk_ != nullptr) begin_marks();
    }
    while (known().large != nullptr) free_large(rare_->large);

    reuse_ = nullptr;
    // The oldest first, as in Region.
    Chunk *row = spare_;
    for (Chunk *chunk = std::exchange(chunk_, nullptr); chunk != nullptr;) {
        if constexpr (checked) {
            open_free(chunk);
            guard::close(start_of(chunk), chunk->size - chunk_lead, guard::Fill::reset);
        }
        Chunk *const older = std::exchange(chunk->older, row);
        row = std::exchange(chunk, older);
    }
    rare_ = nullptr; // was in the last of them
    spare_ = row;
    keep_spare(keep);

    current_ = end_ = limit_ = alone_ = nullptr;
    if (spare_ != nullptr) {
        Chunk **const largest = largest_of(spare_);
        Chunk *const first = *largest;
        *largest = first->older;
        enter(first);
    }
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::trim_anyhow(std::size_t keep) noexcept {
    if (reuse_ != nullptr) sweep();
    keep_spare(keep);
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
bool Reap<Upstream, Granule, Window, S>::resize_raw(void *object, std::size_t whole, bool large,
                                                    std::size_t size) noexcept {
    auto *const block = static_cast<std::byte *>(object);
    if (size > max_object / 2) return false;
    const std::size_t wanted = Shadow::block_for(size + (size == 0));
    // One that is aligned to much has memory of its own, however small. Where its alignment is asked for no
    // more, a free that is told the size would take it for a block of a chunk.
    if (large) return wanted == whole && wanted > Shadow::largest_small;
    if (wanted == whole) return true;
    if (wanted > Window / 2) return false;
    if (block + whole == current_) {
        if (wanted > distance(block, end_)) return false;
        note(block, wanted);
        current_ = block + wanted;
        limit_ = std::max(limit_, current_);
        return true;
    }
    if (wanted > whole) return false;
    // A gap may not begin at a multiple of 16.
    const std::size_t rest = whole - wanted;
    if (rest < Shadow::least && reinterpret_cast<std::uintptr_t>(block + wanted) % 16 == 0) return false;
    note(block, wanted);
    if (rest < Shadow::least) {
        Shadow::set(block + wanted, rest, 0);
        put_free(block + wanted, rest);
        if (known().marks != nullptr) count_free(block, rest);
    } else {
        note(block + wanted, rest);
        free_slowly(block + wanted, rest);
    }
    return true;
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
template <Failure F>
void *Reap<Upstream, Granule, Window, S>::reallocate_anyhow(void *object, std::size_t size,
                                                            std::size_t alignment) {
    if (object != nullptr && is_alignment(alignment) && padding_at(object, alignment) == 0 &&
        resize(object, size))
        return object;
    if constexpr (!checked && !told && ResizingSource<Chunks>) {
        if (object != nullptr)
            if (void *const moved = resize_large(object, size, alignment); moved != nullptr) return moved;
    }
    void *moved = nullptr;
    if constexpr (F == Failure::throws)
        moved = allocate(size, alignment);
    else
        moved = try_allocate(size, alignment);
    if (object == nullptr || moved == nullptr) return moved;
    if constexpr (checked) {
        if (!check_live(object, guard::any_size)) return moved;
    }
    std::memcpy(moved, object, std::min(usable_size(object), size));
    deallocate(object);
    return moved;
}

/// An object that has memory of its own, and is to have after it, with that memory made larger or smaller by
/// the source, which need not copy it. Null, and nothing was done, if that cannot be.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void *Reap<Upstream, Granule, Window, S>::resize_large(void *object, std::size_t size,
                                                       std::size_t alignment) noexcept {
    if (Shadow::offset_of(object) != 0 && Shadow::size_of(object) != 0) return nullptr;
    Large *const large = header_of(object);
    if (size <= largest_in_chunk() || alignment > unit || !is_possible(size, large->alignment, large->lead))
        return nullptr;
    const Large old = *large;
    const std::size_t whole = round_up(size, unit);
    if (whole > old.size && whole - old.size > options_->limit - std::min(options_->limit, held_))
        return nullptr;
    auto *const data = static_cast<std::byte *>(chunks_.try_resize(
        object_of(large) - old.lead, old.lead + old.size, old.lead + whole, old.alignment));
    if (data == nullptr) return nullptr;
    Large *const moved = header_of(data + old.lead);
    moved->size = whole;
    (old.newer == nullptr ? rare_->large : old.newer->older) = moved;
    if (old.older != nullptr) old.older->newer = moved;
    held_ += whole - old.size;
    return object_of(moved);
}

/// Told of what is rare alone: so the address of a reap goes nowhere.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::unlink(Rare &rare, Cleanup *cleanup) noexcept {
    if (cleanup->newer == nullptr)
        rare.cleanups = cleanup->older;
    else
        cleanup->newer->older = cleanup->older;
    if (cleanup->older != nullptr) cleanup->older->newer = cleanup->newer;
    for (MarkRecord *record = rare.marks; record != nullptr; record = record->older)
        if (record->cleanups == cleanup) record->cleanups = cleanup->older;
}

// What looks at a reap.

/// Calls use(block, size, free) for the blocks of a chunk, until it returns false; returns false then, or if
/// a block cannot be what the shadow says. Where sizes are told, live blocks come in stretches.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
template <class Use>
bool Reap<Upstream, Granule, Window, S>::walk(const Chunk *chunk, Use use) const noexcept {
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

/// How large the block is that begins here. Where sizes are told: or how far from here everything lives.
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
        for (const void *object = ledger_.newest(); object != nullptr;) {
            const void *const older = Ledger::older_than(object);
            use(const_cast<void *>(object), guard::size_of(object));
            object = older;
        }
        return;
    }
    if (reuse_ != nullptr) mark_bins(Shadow::is_free);
    for (const Chunk *chunk = chunk_; chunk != nullptr; chunk = chunk->older) {
        walk(chunk, [&](std::byte *block, std::size_t size, bool free) {
            if (!free && !is_record(block)) use(static_cast<void *>(block), size);
            return true;
        });
    }
    if (reuse_ != nullptr) mark_bins(0);
    for (Large *large = known().large; large != nullptr;) {
        Large *const older = large->older;
        if (!is_record(object_of(large))) use(static_cast<void *>(object_of(large)), large->size);
        large = older;
    }
}

/// Whether a mark's record is there, which is nobody's object.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
bool Reap<Upstream, Granule, Window, S>::is_record(const void *block) const noexcept {
    for (const MarkRecord *record = known().marks; record != nullptr; record = record->older)
        if (record == block) return true;
    return false;
}

/// Which chunk of a list the address lies in.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
const typename Reap<Upstream, Granule, Window, S>::Chunk *
Reap<Upstream, Granule, Window, S>::chunk_of(const void *address, const Chunk *list) noexcept {
    while (list != nullptr && distance(start_of(list), address) >= list->size - chunk_lead)
        list = list->older;
    return list;
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
const typename Reap<Upstream, Granule, Window, S>::Large *
Reap<Upstream, Granule, Window, S>::large_of(const void *address) const noexcept {
    const Large *large = known().large;
    while (large != nullptr && distance(large + 1, address) >= large->size) large = large->older;
    return large;
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
ReapStatistics Reap<Upstream, Granule, Window, S>::statistics() const noexcept {
    ReapStatistics found;
    found.held = held_;
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
        for (; hole != nullptr; hole = FreeBlocks::next_of(hole))
            found.largest_hole = std::max(found.largest_hole, Shadow::size_of(hole));
    }
    return found;
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
bool Reap<Upstream, Granule, Window, S>::check() const noexcept {
    bool good = ledger_.verify(name);
    std::size_t held = 0;
    std::size_t free = 0;
    std::size_t blocks = 0; // free ones
    std::size_t most = 0;   // blocks that can be
    for (const Chunk *chunk = chunk_; chunk != nullptr && held <= held_; chunk = chunk->older)
        held += chunk->size;
    most = held / unit;
    if (held > held_) return report_corruption(); // the list goes in circles, or into nowhere
    if (reuse_ != nullptr) {
        for (std::size_t code = 0; code < FreeBlocks::small_codes && good; ++code)
            good &= check_list(reuse_->bins[code], Shadow::size_for(code), most);
        for (std::size_t number = 0; number < FreeBlocks::magnitudes && good; ++number)
            good &= check_list(reuse_->holes[number], 0, most);
        if (!good) return report_corruption();
        mark_bins(Shadow::is_free);
    }
    for (const Chunk *chunk = chunk_; chunk != nullptr; chunk = chunk->older) {
        good &= walk(chunk, [&](const std::byte *, std::size_t size, bool is_free) {
            free += is_free ? size : 0;
            blocks += is_free && size >= Shadow::least;
            return true;
        });
    }
    if (reuse_ != nullptr) {
        mark_bins(0);
        good &= held / unit - most <= blocks;
    }
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

/// Whether all in a list are free blocks of that size (0: any). No list has more blocks than there are.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
bool Reap<Upstream, Granule, Window, S>::check_list(Block *block, std::size_t whole,
                                                    std::size_t &blocks) const noexcept {
    for (; block != nullptr; block = FreeBlocks::next_of(block)) {
        if (blocks-- == 0 || !is_free_block(block, whole, whole == 0)) return false;
    }
    return true;
}

/// Whether this can be a free block of that size (0: any), and the shadow says so as it should. Looks at
/// nothing that is not the reap's.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
bool Reap<Upstream, Granule, Window, S>::is_free_block(const void *block, std::size_t whole,
                                                       bool marked) const noexcept {
    return chunk_of(block, chunk_) != nullptr && reinterpret_cast<std::uintptr_t>(block) % unit == 0 &&
           (told && !marked
                ? *Shadow::byte_of(block) == 0
                : Shadow::is_free_block(block) == marked && (whole == 0 || Shadow::size_of(block) == whole));
}

// Checked mode: the same operations on objects that have guards around them.

/// Whether a list begins with what it should. If not, the rest of it is given up.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
bool Reap<Upstream, Granule, Window, S>::is_sound(Block *&list, std::size_t whole,
                                                  bool marked) const noexcept {
    if (is_free_block(list, whole, marked)) return true;
    report_misuse({Misuse::corruption, list, whole, name});
    list = nullptr;
    return false;
}

/// Looks at the free blocks of a chunk before they are filled anew. Their links are forgotten by then.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::open_free(const Chunk *chunk) noexcept {
    const bool good = walk(chunk, [](std::byte *block, std::size_t size, bool free) {
        if (free) guard::open(block, size, name);
        return true;
    });
    if (!good) report_misuse({Misuse::corruption, chunk, chunk->size, name});
    if (chunk_of(current_, chunk) == chunk && current_ != end_)
        guard::open(current_, distance(current_, end_), name);
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
template <Failure F>
void *Reap<Upstream, Granule, Window, S>::guarded(std::size_t size, std::size_t alignment) {
    if (!is_alignment(alignment) || !is_possible(size, alignment, guard::extra(alignment))) return fail<F>();
    size += size == 0;
    alignment = std::max(alignment, std::size_t{16});
    const std::size_t whole = guard::padded(size, alignment);
    void *const raw = take<F>(whole, alignment);
    if (raw == nullptr) return nullptr;
    guard::open(raw, whole, name);
    return ledger_.admit(raw, size, alignment);
}

/// Whether that is a live object of this reap; what it is instead is reported.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
bool Reap<Upstream, Granule, Window, S>::check_live(const void *object, std::size_t size) const noexcept {
    const bool held = owns(object) || chunk_of(object, spare_) != nullptr;
    if (held && !Ledger::is_live(object)) {
        if (const void *const holder = ledger_.holder_of(object); holder != nullptr) {
            report_misuse({Misuse::interior_free, holder, guard::size_of(holder), name});
            return false;
        }
    }
    if (!ledger_.check(object, size, held, name)) return false;
    if (is_in_shadow(object)) return true;
    report_misuse({Misuse::corruption, object, guard::size_of(object), name});
    return false;
}

/// Whether the shadow, or the header of a large object, says of a live object what it has to.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
bool Reap<Upstream, Granule, Window, S>::is_in_shadow(const void *object) const noexcept {
    void *const raw = guard::raw_of(const_cast<void *>(object));
    const std::size_t whole = guarded_block(object);
    if (large_of(raw) != nullptr) return header_of(raw)->size == whole;
    if constexpr (told) return !is_marked() || *Shadow::byte_of(raw) == 0;
    return !Shadow::is_free_block(raw) && Shadow::size_of(raw) == whole;
}

/// How large the block is that an object and its guards take.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
std::size_t Reap<Upstream, Granule, Window, S>::guarded_block(const void *object) noexcept {
    const void *const raw = guard::raw_of(const_cast<void *>(object));
    return Shadow::block_for(distance(raw, object) + guard::size_of(object) + guard::back_zone);
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::guarded_deallocate(void *object, std::size_t size) noexcept {
    if (object == nullptr || !check_live(object, size)) return;
    // A mark comes back to what was the last object when it was taken: now to the one before.
    for (MarkRecord *record = known().marks; record != nullptr; record = record->older)
        if (record->newest == object) record->newest = Ledger::older_than(object);
    const std::size_t whole = guarded_block(object);
    ledger_.discharge(object, size, true, name);
    void *const raw = guard::raw_of(object);
    guard::close(raw, whole, guard::Fill::freed);
    free_anyhow(raw, whole, large_of(raw) != nullptr ? largest_alignment : unit);
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
bool Reap<Upstream, Granule, Window, S>::guarded_resize(const void *object, std::size_t size) noexcept {
    return size + (size == 0) == guard::size_of(object);
}

} // namespace reap::inline REAP_MODE
