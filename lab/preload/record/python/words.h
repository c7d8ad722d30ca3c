// Words of the program's memory.
#pragma once

#include <cstdint>

namespace reap::preload {

inline uint64_t word_at(uint64_t address) noexcept { return *reinterpret_cast<const uint64_t *>(address); }
inline uint32_t half_word_at(uint64_t address) noexcept {
    return *reinterpret_cast<const uint32_t *>(address);
}

} // namespace reap::preload
