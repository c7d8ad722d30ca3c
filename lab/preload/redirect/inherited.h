// Blocks that the program's own allocator has given out before it stood aside.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform.h"

namespace reap::preload {

// Takes down where anonymous memory is now; false if there is more of it than is kept.
bool remember_mappings() noexcept;

struct Mapping {
    uintptr_t begin;
    uintptr_t end;
};

inline constexpr size_t kMostMappings = 64;
extern Mapping mappings[kMostMappings];
extern size_t mapping_count; // 0 unless they were remembered

extern Mapping around; // all of them

inline bool is_in(const Mapping &mapping, uintptr_t at) noexcept {
    return at - mapping.begin < mapping.end - mapping.begin;
}

// The end of the mapping that a block lies in which was given out before; 0 for any other. New mappings lie
// below the older ones, so that mostly one comparison tells.
inline uintptr_t inherited_until(const void *pointer) noexcept {
    const auto at = reinterpret_cast<uintptr_t>(pointer);
    if (likely(!is_in(around, at))) return 0;
    for (size_t i = 0; i < mapping_count; ++i)
        if (is_in(mappings[i], at)) return mappings[i].end;
    return 0;
}

} // namespace reap::preload
