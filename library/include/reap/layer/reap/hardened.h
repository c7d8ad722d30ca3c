#pragma once

// Hardened mode: the checks when an object is freed, and while it waits for reuse. Part of layer/reap.h.
//
// The shadow marks every free block free, also in bins and in quarantine. The links of bins and holes are
// encoded. Only cheap checks are made; reap/guarded.h finds more.

#include <cstddef>
#include <cstdint>

#include "reap/layer/reap.h"

namespace reap::inline REAP_MODE {

/// Frees anything but a small block, and the very first block; and finds out what is wrong with an address
/// that cannot be freed.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::retire_slow(void *object, std::size_t size,
                                                     std::size_t alignment) noexcept {
    if (object == nullptr || !is_live(object)) return;
    auto *const block = static_cast<std::byte *>(object);
    const Chunk *chunk = nullptr;
    std::size_t whole = 0;
    if constexpr (told) {
        chunk = chunk_of(block, chunk_);
        whole = chunk == nullptr ? 0 : Shadow::block_for(size);
    } else {
        whole = Shadow::offset_of(block) == 0 ? 0 : Shadow::size_of(block);
    }
    if (whole == 0) return retire_large(object, size);
    const bool is_as_told = told ? whole <= distance(block, end_of(chunk))
                                 : size == guard::any_size || Shadow::block_for(size) == whole;
    if (!is_as_told) return report_misuse({Misuse::wrong_size, object, told ? 0 : whole, name});
    if (known().marks != nullptr) {
        count_free(block, whole);
        return put_free(block, whole);
    }
    if (reuse_ == nullptr) begin_reuse();
    // Larger ones would make the quarantine hold much memory.
    if (whole > Shadow::largest_small || alignment > Window) return put_free(block, whole);
    Shadow::set(block, whole, Shadow::is_free);
    reuse_->bytes += whole;
    keep_back(block);
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::retire_large(void *object, std::size_t size) noexcept {
    Large *const large = header_of(object);
    if (!is_linked_large(large)) return report_misuse({Misuse::foreign_free, object, 0, name});
    if (size != guard::any_size && round_up(size, unit) != large->size)
        return report_misuse({Misuse::wrong_size, object, large->size, name});
    free_large(large);
}

/// Whether the neighbours in the list of large objects link to this one.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
bool Reap<Upstream, Granule, Window, S>::is_linked_large(const Large *large) const noexcept {
    if (large->newer == nullptr) return known().large == large;
    return links_.covers(large->newer) && large->newer->older == large;
}

/// Whether an object can be there, according to the shadow; otherwise reports what it is.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
bool Reap<Upstream, Granule, Window, S>::is_live(const void *object) const noexcept {
    if (!is_mine(object) || reinterpret_cast<std::uintptr_t>(object) % unit != 0) {
        const void *owner = nullptr;
        if constexpr (has_owner_words) {
            if (has_owner(object)) owner = owner_of(object).layer();
        }
        report_misuse({Misuse::foreign_free, object, 0, name, owner == this ? nullptr : owner});
        return false;
    }
    const bool has_byte = is_marked() && Shadow::offset_of(object) != 0;
    if ((has_byte && Shadow::is_free_block(object)) ||
        distance(current_, object) < distance(current_, end_)) {
        report_misuse({Misuse::double_free, object, 0, name});
        return false;
    }
    return true;
}

/// Names this reap the owner of a large object, once it lies where it stays; and ends that.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::own(Large *large) const noexcept {
    if constexpr (has_owner_words) {
        large->owner.set(this);
        recorded_windows<Window>.add(large);
        const std::byte *const object = object_of(large);
        if (Shadow::offset_of(object) != 0) own(object, 1);
    }
}
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::disown(Large *large) noexcept {
    if constexpr (has_owner_words) {
        large->owner.clear();
        recorded_windows<Window>.remove(large);
        const std::byte *const object = object_of(large);
        if (Shadow::offset_of(object) != 0) disown(object, 1);
    }
}

/// Marks an object free in any thread, where it is never reused: for an abandoned reap. Returns false if it
/// was free before. An object aligned to a superblock is not marked.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
bool Reap<Upstream, Granule, Window, S>::end_without_owner(void *object) noexcept {
    if (Shadow::offset_of(object) == 0) return true;
    using Code = typename Shadow::Code;
    Code *const byte = Shadow::byte_of(object);
    Code before = __atomic_load_n(byte, __ATOMIC_RELAXED);
    while ((before & Shadow::is_free) == 0 &&
           !__atomic_compare_exchange_n(byte, &before, static_cast<Code>(before | Shadow::is_free), true,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return (before & Shadow::is_free) == 0;
}

/// For a bin whose first block is invalid: the list ends here. The shadow still marks what is free, so the
/// rest is found again when neighbours are coalesced. Returns false.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
bool Reap<Upstream, Granule, Window, S>::give_up(Block *&list) const noexcept {
    report_written(list);
    list = nullptr;
    return false;
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::report_written(const Block *block) const noexcept {
    const bool is_free = Shadow::is_free_block(block);
    report_misuse({is_free ? Misuse::use_after_free : Misuse::corruption, block,
                   is_free ? Shadow::size_of(block) : 0, name});
}

/// Whether nothing was written to what is in quarantine; any write is reported.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
bool Reap<Upstream, Granule, Window, S>::check_quarantine() const noexcept {
    bool good = true;
    quarantine_.each([&](const void *block) {
        if (links_.is_last(static_cast<const Block *>(block))) return;
        report_written(static_cast<const Block *>(block));
        good = false;
    });
    return good;
}

/// Empties the quarantine: its blocks become free like anything else that the shadow marks free.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::end_quarantine() noexcept {
    if constexpr (hardened) {
        check_quarantine();
        quarantine_.drain([](void * /*block*/) {});
    }
}

/// While it exists, the shadow marks blocks in quarantine as in use: so they are not coalesced, and wait on.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
struct Reap<Upstream, Granule, Window, S>::HeldBack {
    explicit HeldBack(Reap &of) noexcept : reap(of) {
        if constexpr (hardened) {
            reap.quarantine_.each([this](void *block) {
                typename Shadow::Code &byte = *Shadow::byte_of(block);
                bytes += Shadow::size_of(block);
                codes[count++] = byte;
                byte = told ? typename Shadow::Code{}
                            : static_cast<typename Shadow::Code>(byte & ~Shadow::is_free);
            });
            reap.reuse_->bytes -= bytes;
        }
    }
    HeldBack(const HeldBack &) = delete;
    HeldBack &operator=(const HeldBack &) = delete;
    ~HeldBack() {
        if constexpr (hardened) {
            count = 0;
            reap.quarantine_.each([this](void *block) { *Shadow::byte_of(block) = codes[count++]; });
            reap.reuse_->bytes += bytes;
        }
    }

    Reap &reap;
    std::size_t bytes = 0;
    std::size_t count = 0;
    typename Shadow::Code codes[hardened ? REAP_QUARANTINE + 1 : 1];
};

} // namespace reap::inline REAP_MODE
