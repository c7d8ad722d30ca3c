#pragma once

// Where room for an object comes from. Part of layer/reap.h.

#include <cstddef>
#include <utility>

#include "reap/core/size.h"
#include "reap/layer/reap.h"

namespace reap::inline REAP_MODE {

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
template <Failure F, bool Catches>
typename Reap<Upstream, Granule, Window, S>::Taken
Reap<Upstream, Granule, Window, S>::serve(std::size_t size, std::size_t alignment) noexcept(Catches) {
#if defined(__cpp_exceptions)
    if constexpr (Catches && F == Failure::throws) {
        try {
            void *const object = serve_or_fail<F>(size, alignment);
            return {object, current_};
        } catch (...) {
            return {nullptr, HeldException::hold()};
        }
    } else
#endif
    {
        void *const object = serve_or_fail<F>(size, alignment);
        return {object, current_};
    }
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
template <Failure F>
void *Reap<Upstream, Granule, Window, S>::serve_or_fail(std::size_t size, std::size_t alignment) {
    if (!is_possible(size, alignment, Window) || alignment > largest_alignment) return fail<F>();
    if constexpr (is_owned) {
        static_assert(!told, "what comes back from other threads comes without its size");
        chunks_.take_returned([this](void *object) { deallocate(object); });
    }
    size += size == 0;
    alignment = detail::max(alignment, unit);
    return serve_block<F>(size, Shadow::block_for(size), alignment);
}

/// In this order, after a hole of the same size: free memory; memory freed by coalescing neighbours, if that
/// is worthwhile; a new chunk; and if there is none, coalescing in any case.
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
        if (spare_ == nullptr) rare_->sweep_at = detail::max(rare_->sweep_at, held_ + held_ / 4);
    }
    if (reuse_ != nullptr && free_bytes() >= whole) {
        if (!take_chunk<Failure::returns_null>(need)) {
            end_quarantine();
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
        // The quantum is used up: from here on, free blocks are tried first.
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

/// The first of a few blocks of the same size, side by side, out of the bump space; the others become free.
/// Null if there is no room for one.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void *Reap<Upstream, Granule, Window, S>::take_run(std::size_t code) noexcept {
    const std::size_t whole = Shadow::size_for(code);
    const std::size_t room = distance(current_, end_);
    if (room < whole) return nullptr;
    // So little that the bins of many sizes, each with a part of a run, hold little in total.
    const std::size_t run = detail::min(detail::max(held_ / 512, smallest_run), options_->largest_run, room);
    std::byte *const first = current_;
    current_ += detail::max(run - run % whole, whole);
    // From last to first: they are used from the first on.
    Block *&bin = reuse_->bins[code];
    for (std::byte *block = current_ - whole; block != first; block -= whole) {
        note_in_bin(block, whole);
        FreeBlocks::push(links_, bin, block);
    }
    reuse_->bytes += distance(first, current_) - whole;
    note(first, whole);
    limit_ = current_;
    return first;
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void *Reap<Upstream, Granule, Window, S>::try_allocate_from_larger_bin(std::size_t size) noexcept
    requires(S == Sizes::kept)
{
    const std::size_t code = Shadow::code_for(size + (size == 0));
    if (checked || reuse_ == nullptr || code > Shadow::last_small) return nullptr;
    const std::size_t third = Shadow::code_for(size + size / 3);
    const std::size_t last = detail::min(detail::max(third, code + 1), std::size_t{Shadow::last_small});
    for (std::size_t larger = code + 1; larger <= last; ++larger)
        if (has_free(larger)) return handed_out(take_free(larger), size);
    return nullptr;
}

/// A block out of the bump space, if it has room. Alignment padding before it becomes free.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void *Reap<Upstream, Granule, Window, S>::take_from_space(std::size_t whole, std::size_t alignment) noexcept {
    const std::size_t padding = padding_at(current_, alignment);
    const std::size_t room = distance(current_, end_);
    if (padding > room || whole > room - padding) return nullptr;
    if (padding > 0) put_free(current_, padding);
    std::byte *const block = current_ + padding;
    note(block, whole);
    current_ = block + whole;
    limit_ = detail::max(limit_, current_);
    return block;
}

/// The newest hole of this magnitude, if it has exactly this size: most often, where long objects of one size
/// are replaced. Not in checked and hardened mode, which look at a hole more closely.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void *Reap<Upstream, Granule, Window, S>::pop_same_hole(FreeBlocks *reuse, Rare *rare,
                                                        std::size_t whole) noexcept {
    Block *&list = reuse->holes[FreeBlocks::magnitude_of(whole)];
    if (list == nullptr || Shadow::size_of(list) != whole) return nullptr;
    Block *const hole = FreeBlocks::pop(PlainLinks<Reap>(), list);
    rare->free_bytes -= whole;
    if constexpr (told)
        Shadow::clear(hole, FreeBlocks::smallest_hole);
    else
        Shadow::set_free(hole, 0);
    return hole;
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

/// The same out of a bin with larger blocks, when nothing else is left. The remainder must not be a gap,
/// which could be misplaced.
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

/// A hole of at least `need` bytes, taken off its list. Among those of the same magnitude a few are tried;
/// any of a larger one fits.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
std::byte *Reap<Upstream, Granule, Window, S>::find_hole(std::size_t need) noexcept {
    constexpr int tries = 8;
    need = detail::max(need, FreeBlocks::smallest_hole);
    for (std::size_t magnitude = FreeBlocks::magnitude_of(need); magnitude < FreeBlocks::magnitudes;
         ++magnitude) {
        Block *&list = reuse_->holes[magnitude];
        Block *before = nullptr;
        for (int tried = 0; tried < tries; ++tried) {
            Block *const hole = before == nullptr ? list : FreeBlocks::next_of(links_, before);
            if (hole == nullptr) break;
            if constexpr (checked || hardened) {
                if (!is_free_block(hole, 0, true) || !links_.is_valid(hole)) {
                    report_misuse({Misuse::corruption, hole, 0, name});
                    FreeBlocks::lead(links_, list, before, nullptr);
                    break;
                }
            }
            const std::size_t size = Shadow::size_of(hole);
            if (size >= need) {
                FreeBlocks::lead(links_, list, before, FreeBlocks::next_of(links_, hole));
                FreeBlocks::forget_link(hole);
                rare_->free_bytes -= size;
                return reinterpret_cast<std::byte *>(hole);
            }
            before = hole;
        }
    }
    return nullptr;
}

/// Makes this the bump space. The rest of the previous one becomes free.
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
    limit_ = current_ + detail::min(quantum, distance(current_, end_));
}

/// Objects that need more have memory of their own. A small object must be where a sized free expects it.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
std::size_t Reap<Upstream, Granule, Window, S>::largest_in_chunk() const noexcept {
    return detail::max(detail::min(options_->large_object, Window / 4), Shadow::largest_small);
}

/// Records the size of an object in the shadow, if sizes are stored.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::note(std::byte *block, std::size_t whole) noexcept {
    if constexpr (told)
        *Shadow::byte_of(block) = 0;
    else
        Shadow::set(block, whole, 0);
}

/// The same for a small block that goes into a bin: in hardened mode also that it is free.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::note_in_bin(std::byte *block, std::size_t whole) noexcept {
    if constexpr (hardened)
        Shadow::set(block, whole, Shadow::is_free);
    else
        note(block, whole);
}

} // namespace reap::inline REAP_MODE
