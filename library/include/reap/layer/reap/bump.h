#pragma once

// The hot path of allocation, inline. Part of layer/reap.h.

#include <cstddef>

#include "reap/core/failure.h"
#include "reap/core/rarely.h"
#include "reap/core/size.h"
#include "reap/layer/reap.h"

namespace reap::inline REAP_MODE {

/// The hot path. As in Region, every store to `current_` is here, so that a loop that allocates keeps it
/// in a register. A size of 0 and one that is not small fail the comparison with the small sizes, or that
/// with the room; a reap without a chunk fails the latter like one with a full chunk.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
template <Failure F>
inline void *Reap<Upstream, Granule, Window, S>::take(std::size_t size, std::size_t alignment) {
    Taken got;
    if (detail::rarely(!bump(size, alignment, got))) {
        got = {take_same_hole(size, alignment), current_};
        if (got.object == nullptr)
            got = out_of_line([=](Reap &reap) { return reap.serve<F>(size, alignment); });
        if (F == Failure::throws && got.object == nullptr) [[unlikely]]
            HeldException::rethrow(got.next);
    }
    current_ = got.next;
    // Keeps both values alive on every path, so that the compiler keeps them in registers across
    // iterations. They are multiples of 8.
    if (distance(shadow_, limit_) == 1) __builtin_unreachable();
    return got.object;
}

/// A hole of exactly the size for an object that is not small, or null. Without a copy of the state.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
inline void *Reap<Upstream, Granule, Window, S>::take_same_hole(std::size_t size,
                                                                std::size_t alignment) noexcept {
    const std::size_t whole = Shadow::block_for(size); // of a size that wraps it is 0
    if (checked || hardened || reuse_ == nullptr || alignment != unit || whole <= Shadow::largest_small ||
        whole > largest_in_chunk())
        return nullptr;
    return pop_same_hole(reuse_, rare_, whole);
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
inline bool Reap<Upstream, Granule, Window, S>::bump(std::size_t size, std::size_t alignment,
                                                     Taken &got) noexcept {
    if constexpr (told)
        return bump_alone(size, alignment, got);
    else
        return bump_and_note(size, alignment, got);
}

/// Where sizes are told. As in Region.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
inline bool Reap<Upstream, Granule, Window, S>::bump_alone(std::size_t size, std::size_t alignment,
                                                           Taken &got) noexcept {
    std::byte *const at = current_;
    if (alignment > unit || !is_alignment(alignment)) [[unlikely]]
        return false;
    const std::size_t last = (size - 1) & ~(unit - 1);
    if (last >= distance(at, limit_)) [[unlikely]] {
        if (reuse_ == nullptr || reuse_->misses == FreeBlocks::in_quantum || last >= Shadow::largest_small)
            return false;
        const std::size_t code = last / unit;
        if (has_free(code)) {
            got = {take_free(code), at};
            return true;
        }
        if (++reuse_->misses >= FreeBlocks::most_misses || last >= distance(at, end_)) return false;
        limit_ = at + last + unit;
    }
    got = {at, at + last + unit};
    return true;
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
inline bool Reap<Upstream, Granule, Window, S>::bump_and_note(std::size_t size, std::size_t alignment,
                                                              Taken &got) noexcept {
    std::byte *const at = current_;
    std::byte *limit = limit_;
    std::byte *const shadow = shadow_;
    if (alignment > unit || !is_alignment(alignment)) [[unlikely]]
        return false;
    std::size_t over = size - Shadow::first_of_second;
    if (over > Shadow::largest_small - Shadow::first_of_second) {
        if (size - 1 >= Shadow::first_of_second - 1) return bump_long(size, got);
        over = 0;
    }
    // Otherwise the code below would be duplicated for each of the two paths here.
    if (__builtin_constant_p(size) == 0) asm("" : "+r"(over));
    const std::size_t code = over / unit;
    const std::size_t whole = Shadow::size_for(code);
    const std::size_t next = distance(nullptr, at) + whole; // both may be null
    if (next > distance(nullptr, limit)) [[unlikely]] {
        if (reuse_ == nullptr || reuse_->misses == FreeBlocks::in_quantum) return false;
        // Otherwise the compiler would split the sum above for what is needed here. The assembler may
        // change the value.
        std::size_t hidden = code; // NOLINT(misc-const-correctness)
        asm("" : "+r"(hidden));
        if (has_free(hidden)) {
            got = {take_free(hidden), at};
            return true;
        }
        if (++reuse_->misses >= FreeBlocks::most_misses || next > distance(nullptr, end_)) return false;
    }
    std::byte *const object = about_to_be_written(at);
    *Shadow::byte_at(shadow, at) = static_cast<typename Shadow::Code>(code);
    got = {object, at + whole};
    return true;
}

/// Loads the object's first line, which the caller is going to write to. Stores take effect in order, and
/// a processor may not overlap the misses of stores to objects where each store between them, to the
/// shadow, is a hit: then an object takes twice the time. A load does not wait for its turn.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
inline std::byte *Reap<Upstream, Granule, Window, S>::about_to_be_written(std::byte *object) noexcept {
    __builtin_prefetch(object, 1);
    // The same address for all that the compiler knows, so that it divides the other in its register.
    asm("" : "+r"(object));
    return object;
}

/// The same for an object that is not small, up to 32 KB. Its size takes eight bytes of the shadow.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
inline bool Reap<Upstream, Granule, Window, S>::bump_long(std::size_t size, Taken &got) noexcept {
    constexpr std::size_t most = std::size_t{32} << 10;
    std::byte *const at = current_;
    const std::size_t last = (size - 1) & ~(unit - 1); // of 0 it is larger than any
    const std::size_t whole = last + unit;
    if (detail::rarely(last > most - unit) || detail::rarely(whole > options_->large_object)) return false;
    // Small ones may have passed the limit.
    if (detail::rarely(distance(nullptr, at) + whole > distance(nullptr, limit_))) return false;
    std::byte *const object = about_to_be_written(at);
    Shadow::set_long_at(shadow_, at, whole);
    got = {object, at + whole};
    return true;
}

} // namespace reap::inline REAP_MODE
