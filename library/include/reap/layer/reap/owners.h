#pragma once

// Owners of chunks, as their superblocks name them, for hardened mode. Part of layer/reap.h.

#include <cstddef>
#include <new>

#include "reap/core/owner.h"
#include "reap/layer/reap.h"
#include "reap/source/superblocks.h"
#include "reap/source/window_map.h"

namespace reap::inline REAP_MODE {

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
inline OwnerWord *Reap<Upstream, Granule, Window, S>::owner_word(const void *address) noexcept {
    return reinterpret_cast<OwnerWord *>(Superblocks<SystemPages, Window>::word_for(address));
}

/// The record of who owns an object, or an address near one: in the superblock, or for a large object
/// aligned to one, in front of it.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
inline const OwnerRecord &Reap<Upstream, Granule, Window, S>::owner_of(const void *object) noexcept {
    if (Shadow::offset_of(object) == 0) return header_of(const_cast<void *>(object))->owner;
    return *reinterpret_cast<const OwnerRecord *>(owner_word(object));
}

/// Hardened mode: whether the address is in memory of this reap.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
inline bool Reap<Upstream, Granule, Window, S>::is_mine(const void *object) const noexcept {
    if constexpr (has_owner_words) return has_owner(object) && owner_of(object).names(this);
    return links_.covers(object);
}

/// Names this reap the owner of a chunk, and ends that.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
inline void Reap<Upstream, Granule, Window, S>::own(const void *chunk, std::size_t size) const noexcept {
    if constexpr (has_owner_words) {
        for (std::size_t at = 0; at < size; at += Superblocks<SystemPages, Window>::smallest)
            (::new (static_cast<void *>(owner_word(static_cast<const std::byte *>(chunk) + at))) OwnerWord)
                ->set(this);
    }
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
inline void Reap<Upstream, Granule, Window, S>::disown(const void *chunk, std::size_t size) noexcept {
    if constexpr (has_owner_words) {
        for (std::size_t at = 0; at < size; at += Superblocks<SystemPages, Window>::smallest)
            owner_word(static_cast<const std::byte *>(chunk) + at)->clear();
    }
}

} // namespace reap::inline REAP_MODE
