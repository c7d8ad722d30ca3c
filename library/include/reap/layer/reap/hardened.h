#pragma once

// Hardened mode: what is looked at when an object is freed, and while it waits to be used again. Part of
// layer/reap.h.
//
// The shadow says of every free block that it is free, in bins and in quarantine as well. The links of bins
// and holes are encoded. All that is looked at is what costs little; reap/guarded.h finds more.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "reap/layer/reap.h"

namespace reap::inline REAP_MODE {

/// Frees what is no small block, and the first block of all; and finds out what is wrong with one that cannot
/// be freed.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::retire_anyhow(void *object, std::size_t size,
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
    // What went back to the source with its object cannot be told from what never was an object.
    if (!is_linked_large(large)) return report_misuse({Misuse::foreign_free, object, 0, name});
    if (size != guard::any_size && round_up(size, unit) != large->size)
        return report_misuse({Misuse::wrong_size, object, large->size, name});
    free_large(large);
}

/// Whether the neighbours in the list of large objects lead to this one.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
bool Reap<Upstream, Granule, Window, S>::is_linked_large(const Large *large) const noexcept {
    if (large->newer == nullptr) return known().large == large;
    return links_.covers(large->newer) && large->newer->older == large;
}

/// Whether an object can be there, as far as the shadow says; what it is instead is reported.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
bool Reap<Upstream, Granule, Window, S>::is_live(const void *object) const noexcept {
    if (!links_.covers(object) || reinterpret_cast<std::uintptr_t>(object) % unit != 0) {
        report_misuse({Misuse::foreign_free, object, 0, name});
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

/// Says that an object is free in any thread, where nobody uses it again: of a reap that was abandoned. False
/// if it was free before. Of one that is aligned to a superblock nothing is said.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
bool Reap<Upstream, Granule, Window, S>::end_without_owner(void *object) noexcept {
    if (Shadow::offset_of(object) == 0) return true;
    using Code = typename Shadow::Code;
    const std::atomic_ref<Code> byte(*Shadow::byte_of(object));
    Code before = byte.load(std::memory_order_relaxed);
    while ((before & Shadow::is_free) == 0 &&
           !byte.compare_exchange_weak(before, static_cast<Code>(before | Shadow::is_free),
                                       std::memory_order_relaxed)) {
    }
    return (before & Shadow::is_free) == 0;
}

/// Of a bin whose first block is not what it must be: the list ends here. The shadow still says what is free,
/// so the rest is found again when neighbours are merged. Returns false.
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

/// Whether nothing was written to what is in quarantine; what was is reported.
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

/// Ends the waiting: what was in quarantine is free like anything else that the shadow says is free.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::end_quarantine() noexcept {
    if constexpr (hardened) {
        check_quarantine();
        quarantine_.drain([](void * /*block*/) {});
    }
}

/// While it lives, the shadow says of what is in quarantine that it is in use: so it is not merged, and
/// waits on.
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
    std::array<typename Shadow::Code, hardened ? REAP_QUARANTINE + 1 : 1> codes;
};

} // namespace reap::inline REAP_MODE
