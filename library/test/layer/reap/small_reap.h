#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "reap/layer/reap.h"

/// Superblocks as small as can be, so that little is a lot.
inline constexpr std::size_t window = std::size_t{128} << 10;
template <class Source>
using SmallReap = reap::Reap<reap::Ref<Source>, 8, window>;

inline void fill(void *object, int value, std::size_t size) { std::memset(object, value, size); }

/// The shadow's byte for an address.
inline unsigned char *shadow_of(void *address) {
    constexpr std::uintptr_t mask = (std::uintptr_t{2} << 20) - 1;
    const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(address) & mask;
    return static_cast<unsigned char *>(address) - offset + offset / 16;
}
