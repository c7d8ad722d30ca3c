#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "reap/core/mode.h"

// Arithmetic on sizes and addresses that cannot silently wrap.

namespace reap::inline REAP_MODE {

namespace detail {

// Not std::max and std::min: <algorithm> takes longer to compile than all headers of a layer together. By
// reference, as those: of values g++ 12 makes longer code (setup/golden).
// NOLINTBEGIN(bugprone-return-const-ref-from-parameter)
template <class T>
[[nodiscard]] constexpr const T &max(const T &one, const T &other) noexcept {
    return one < other ? other : one;
}
template <class T, class... More>
[[nodiscard]] constexpr T max(T one, T other, More... more) noexcept {
    return max(max(one, other), more...);
}
template <class T>
[[nodiscard]] constexpr const T &min(const T &one, const T &other) noexcept {
    return other < one ? other : one;
}
template <class T, class... More>
[[nodiscard]] constexpr T min(T one, T other, More... more) noexcept {
    return min(min(one, other), more...);
}
// NOLINTEND(bugprone-return-const-ref-from-parameter)

} // namespace detail

/// The largest possible object: pointers into it must be subtractable.
inline constexpr std::size_t max_object = std::numeric_limits<std::ptrdiff_t>::max();

/// Whether this is a valid alignment: a power of two, and not zero.
[[nodiscard]] constexpr bool is_alignment(std::size_t alignment) noexcept {
    // Not std::has_single_bit, which is a function call where the CPU's population-count instruction cannot
    // be assumed.
    return alignment != 0 && (alignment & (alignment - 1)) == 0;
}

/// The next multiple of `unit`, a power of two. Requires `size <= SIZE_MAX - unit + 1`.
[[nodiscard]] constexpr std::size_t round_up(std::size_t size, std::size_t unit) noexcept {
    return (size + (unit - 1)) & ~(unit - 1);
}

/// Bytes from `at` to the next multiple of `alignment`, a power of two.
[[nodiscard]] inline std::size_t padding_at(const void *at, std::size_t alignment) noexcept {
    return (0 - reinterpret_cast<std::uintptr_t>(at)) & (alignment - 1);
}

/// Whether an object of `size` at `alignment`, with `extra` bytes of the layer's own, can exist. Called
/// before sizes are added.
[[nodiscard]] constexpr bool is_possible(std::size_t size, std::size_t alignment,
                                         std::size_t extra = 0) noexcept {
    return is_alignment(alignment) && alignment <= max_object / 4 && extra <= max_object / 4 &&
           size <= max_object - 2 * alignment - extra;
}

} // namespace reap::inline REAP_MODE
