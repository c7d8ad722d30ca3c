#pragma once

// Chunks, and objects with memory of their own. Part of layer/reap.h.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>

#include "reap/core/size.h"
#include "reap/layer/reap.h"

namespace reap::inline REAP_MODE {

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
template <Failure F>
bool Reap<Upstream, Granule, Window, S>::take_chunk(std::size_t need) {
    const std::size_t least = Superblocks<Upstream, Window>::chunk_for(chunk_lead + round_up(need, 16) +
                                                                       (chunk_ == nullptr ? reserve : 0));
    if (Chunk **const largest = detail::largest_of(spare_);
        *largest != nullptr && least <= (*largest)->size) {
        enter(detail::take_off(largest));
        return true;
    }
    const annotate::Quiet quiet;
    const std::size_t allowed = detail::below_limit(*options_, held_);
    if (least > allowed) return fail<F>() != nullptr;
    const std::size_t next = detail::next_chunk(*options_, chunk_);
    const std::size_t wanted =
        std::bit_floor(detail::min(detail::max(least, detail::min(next, Window / 2)), allowed));
    const Allocation got = chunk_source().template obtain_chunk<F>(least, detail::max(least, wanted));
    if (got.data == nullptr) return false;
    adopt(got);
    return true;
}

/// Makes memory from the source the current chunk.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
inline void Reap<Upstream, Granule, Window, S>::adopt(Allocation got) noexcept {
    held_ += got.size;
    links_.cover(got.data, got.size);
    own(got.data, got.size);
    Chunk *const chunk = ::new (got.data) Chunk{nullptr, 0, got.size, nullptr};
    if constexpr (checked) guard::close(start_of(chunk), got.size - chunk_lead, guard::Fill::fresh);
    enter(chunk);
}

/// Makes a chunk the current one. The oldest reserves room for bins at its end: so there is room when the
/// first object is freed.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
inline void Reap<Upstream, Granule, Window, S>::enter(Chunk *chunk) noexcept {
    const bool first = chunk_ == nullptr;
    if constexpr (told) {
        if (!known().marked && !first) {
            // Nothing is free yet but the remainder: no reason to begin marking.
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
    seal_chunks();
}

/// Returns a chunk to the source.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::leave(Chunk *chunk) noexcept {
    if constexpr (checked) guard::open(start_of(chunk), chunk->size - chunk_lead, name);
    held_ -= chunk->size;
    disown(chunk, chunk->size);
    detail::Running::gone(chunk, chunk->size);
    chunks_.deallocate(chunk, chunk->size, chunk_alignment);
}

/// Returns spare chunks to the source until at most this many bytes are left.
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
    seal_chunks();
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
template <Failure F>
void *Reap<Upstream, Granule, Window, S>::take_large(std::size_t size, std::size_t alignment) {
    const annotate::Quiet quiet;
    const std::size_t lead = detail::max(large_lead, alignment);
    const std::size_t whole = round_up(size, unit);
    alignment = detail::max(alignment, Window);
    const auto is_allowed = [&] { return lead + whole <= detail::below_limit(*options_, held_); };
    if (!is_possible(whole, alignment, lead) || !is_allowed()) return fail<F>();
    // The head of the list lies in a chunk.
    if (chunk_ == nullptr && !take_chunk<F>(0)) return nullptr;
    if (!is_allowed()) return fail<F>();
    auto *const data = static_cast<std::byte *>(obtain<F>(chunks_, lead + whole, alignment));
    if (data == nullptr) return nullptr;
    std::byte *const object = data + lead;
    if (Shadow::offset_of(object) != 0) Shadow::set_large(object);
    held_ += lead + whole;
    links_.cover(data, lead + whole);
    const std::uint64_t serial = known().marks == nullptr ? 0 : known().marks->serial;
    Large *const older = known().large;
    Large *const large = ::new (header_of(object)) Large{older, nullptr, whole, alignment, lead, serial};
    own(large);
    CheckedSeal::set(*large);
    rare().large = large;
    if (older != nullptr) {
        older->newer = large;
        CheckedSeal::set(*older);
    }
    if constexpr (checked) guard::close(object, whole, guard::Fill::fresh);
    return object;
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::free_large(Large *large) noexcept {
    if (large->newer == nullptr) {
        rare_->large = large->older;
    } else {
        large->newer->older = large->older;
        CheckedSeal::set(*large->newer);
    }
    if (large->older != nullptr) {
        large->older->newer = large->newer;
        CheckedSeal::set(*large->older);
    }
    const std::size_t size = large->lead + large->size;
    const std::size_t alignment = large->alignment;
    std::byte *const data = object_of(large) - large->lead;
    disown(large);
    annotate::defined(data, size);
    held_ -= size;
    chunks_.deallocate(data, size, alignment);
}

} // namespace reap::inline REAP_MODE
