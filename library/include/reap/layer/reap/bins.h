#pragma once

// The hot paths of free memory, inline: small blocks in bins. Part of layer/reap.h.

#include <cstddef>
#include <cstdint>

#include "reap/core/guard.h"
#include "reap/layer/reap.h"

namespace reap::inline REAP_MODE {

/// Whether a bin has a block. Checked mode does not follow a link to anything else.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
inline bool Reap<Upstream, Granule, Window, S>::has_free(std::size_t code) noexcept {
    Block *&bin = reuse_->bins[code];
    if constexpr (checked) return bin != nullptr && is_sound(bin, Shadow::size_for(code), false);
    if constexpr (hardened) return bin != nullptr && (is_intact(bin, code) || give_up(bin));
    return bin != nullptr;
}

/// Hardened mode's check: whether the first block of a bin is free, of that size, and has a valid link.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
inline bool Reap<Upstream, Granule, Window, S>::is_intact(const Block *block,
                                                          std::size_t code) const noexcept {
    return *Shadow::byte_of(block) == (code | Shadow::is_free) && links_.is_valid(block);
}

/// Takes a block off its bin, which must not be empty. The shadow never marked it free, except in
/// hardened mode.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
inline void *Reap<Upstream, Granule, Window, S>::take_free(std::size_t code) noexcept {
    Block *const block = FreeBlocks::pop(links_, reuse_->bins[code]);
    if constexpr (hardened)
        *Shadow::byte_of(block) = told ? typename Shadow::Code{} : static_cast<typename Shadow::Code>(code);
    __builtin_prefetch(reuse_->bins[code]);
    reuse_->bytes -= Shadow::size_for(code);
    return block;
}

/// Frees a small block inline; any other code takes the slow path.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
inline void Reap<Upstream, Granule, Window, S>::give(void *object, std::size_t code) noexcept {
    auto *const block = static_cast<std::byte *>(object);
    if (code > Shadow::last_small) [[unlikely]] {
        // Nothing is copied of one that is owned.
        if (is_owned || !free_long(reuse_, rare_, block, current_, end_)) free_out_of_line(object, 0);
        return;
    }
    if (block + Shadow::size_for(code) == current_) {
        current_ = block;
        return;
    }
    put_in_bin(object, code);
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
inline void Reap<Upstream, Granule, Window, S>::put_in_bin(void *object, std::size_t code) noexcept {
    const std::size_t whole = Shadow::size_for(code);
    if (reuse_ == nullptr) [[unlikely]]
        return free_out_of_line(object, whole);
    FreeBlocks::push(links_, reuse_->bins[code], object);
    reuse_->bytes += whole;
}

/// Hardened mode's free of a small block in the common case. From now on the shadow marks it free.
/// `size`: as the caller gave it, or any_size.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
inline void Reap<Upstream, Granule, Window, S>::retire(void *object, std::size_t size,
                                                       std::size_t alignment) noexcept {
    if (reuse_ == nullptr || Shadow::offset_of(object) == 0 || !is_mine(object)) [[unlikely]]
        return retire_slow(object, size, alignment);
    typename Shadow::Code *const byte = Shadow::byte_of(object);
    const std::size_t asked = told || size != guard::any_size ? Shadow::code_for(size) : *byte;
    const bool is_as_told = told ? *byte == 0 && alignment <= unit : *byte == asked;
    if (!is_as_told || asked > Shadow::last_small || reinterpret_cast<std::uintptr_t>(object) % unit != 0 ||
        distance(current_, object) < distance(current_, end_)) [[unlikely]]
        return retire_slow(object, size, alignment);
    *byte = static_cast<typename Shadow::Code>(asked | Shadow::is_free);
    reuse_->bytes += Shadow::size_for(asked);
    keep_back(object);
}

/// Puts a block that the shadow marks free into quarantine, and the one that has been there longest into
/// its bin. While a block is there its link is null, and is checked afterwards.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
inline void Reap<Upstream, Granule, Window, S>::keep_back(void *block) noexcept {
    links_.template make<Block>(block, nullptr);
    auto *const oldest = static_cast<Block *>(quarantine_.exchange(block));
    if (oldest == nullptr) return;
    const std::size_t code = *Shadow::byte_of(oldest) - std::size_t{Shadow::is_free};
    if (code > Shadow::last_small || !links_.is_last(oldest)) [[unlikely]]
        return report_written(oldest);
    FreeBlocks::push(links_, reuse_->bins[code], oldest);
}

/// The same where both sizes are small, and the object is the last one.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
inline bool Reap<Upstream, Granule, Window, S>::resize_last(void *object, std::size_t size) noexcept {
    if (Shadow::offset_of(object) == 0) return false;
    auto *const block = static_cast<std::byte *>(object);
    typename Shadow::Code *const byte = Shadow::byte_of(block);
    const std::size_t code = Shadow::code_for(size);
    if (*byte > Shadow::last_small || code > Shadow::last_small ||
        block + Shadow::size_for(*byte) != current_ || Shadow::size_for(code) > distance(block, end_))
        return false;
    *byte = static_cast<typename Shadow::Code>(code);
    current_ = block + Shadow::size_for(code);
    return true;
}

} // namespace reap::inline REAP_MODE
