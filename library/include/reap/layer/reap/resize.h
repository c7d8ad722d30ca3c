#pragma once

// Resizing of objects. Part of layer/reap.h.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "reap/core/size.h"
#include "reap/layer/reap.h"

namespace reap::inline REAP_MODE {

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
bool Reap<Upstream, Granule, Window, S>::resize_raw(void *object, std::size_t whole, bool large,
                                                    std::size_t size) noexcept {
    auto *const block = static_cast<std::byte *>(object);
    if (size > max_object / 2) return false;
    const std::size_t wanted = Shadow::block_for(size + (size == 0));
    // One with a large alignment has memory of its own, however small. Where its alignment is no longer
    // requested, a sized free would take it for a block of a chunk.
    if (large) return wanted == whole && wanted > Shadow::largest_small;
    if (wanted == whole) return true;
    if (wanted > Window / 2) return false;
    if (block + whole == current_) {
        if (wanted > distance(block, end_)) return false;
        note(block, wanted);
        current_ = block + wanted;
        limit_ = detail::max(limit_, current_);
        return true;
    }
    if (wanted > whole) return false;
    // A gap must not begin at a multiple of 16.
    const std::size_t rest = whole - wanted;
    if (rest < Shadow::least && reinterpret_cast<std::uintptr_t>(block + wanted) % 16 == 0) return false;
    note(block, wanted);
    if (rest < Shadow::least) {
        Shadow::set(block + wanted, rest, 0);
        put_free(block + wanted, rest);
        if (known().marks != nullptr) count_free(block, rest);
    } else {
        note(block + wanted, rest);
        free_out_of_line(block + wanted, rest);
    }
    return true;
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
template <Failure F>
void *Reap<Upstream, Granule, Window, S>::reallocate_slow(void *object, std::size_t size,
                                                          std::size_t alignment) {
    // Before anything is allocated: that might be the very object, if it is free.
    const bool lives = [&] {
        if constexpr (checked)
            return object == nullptr || check_live(object, guard::any_size);
        else if constexpr (hardened)
            return object == nullptr || is_live(object);
        else
            return true;
    }();
    if (lives && object != nullptr && is_alignment(alignment) && padding_at(object, alignment) == 0 &&
        resize(object, size))
        return object;
    // Where pools are marked, copy: the old object's end must be reported before it moves.
    if constexpr (!checked && !told && !REAP_MARK_POOLS && ResizingSource<Chunks>) {
        if (object != nullptr)
            if (void *const moved = resize_large(object, size, alignment); moved != nullptr) return moved;
    }
    void *moved = nullptr;
    if constexpr (F == Failure::throws)
        moved = allocate(size, alignment);
    else
        moved = try_allocate(size, alignment);
    if (object == nullptr || moved == nullptr || !lives) return moved;
    std::memcpy(moved, object, detail::min(usable_size(object), size));
    deallocate(object);
    return moved;
}

/// Resizes an object that has memory of its own, before and after, by having the source resize that memory,
/// which may avoid a copy. Returns null, with nothing done, if that is impossible.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void *Reap<Upstream, Granule, Window, S>::resize_large(void *object, std::size_t size,
                                                       std::size_t alignment) noexcept
    requires ResizingSource<Chunks>
{
    if (Shadow::offset_of(object) != 0 && Shadow::size_of(object) != 0) return nullptr;
    Large *const large = header_of(object);
    if (size <= largest_in_chunk() || alignment > unit || !is_possible(size, large->alignment, large->lead))
        return nullptr;
    const Large old = *large;
    const std::size_t whole = round_up(size, unit);
    if (whole > old.size && whole - old.size > options_->limit - detail::min(options_->limit, held_))
        return nullptr;
    disown(large);
    auto *const data = static_cast<std::byte *>(chunks_.try_resize(
        object_of(large) - old.lead, old.lead + old.size, old.lead + whole, old.alignment));
    if (data == nullptr) return own(large), nullptr;
    links_.cover(data, old.lead + whole);
    Large *const moved = header_of(data + old.lead);
    moved->size = whole;
    own(moved);
    (old.newer == nullptr ? rare_->large : old.newer->older) = moved;
    if (old.older != nullptr) old.older->newer = moved;
    held_ += whole - old.size;
    return object_of(moved);
}

} // namespace reap::inline REAP_MODE
