// Of each block in use: when it was born, and how large it is; found by its address.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shadow.h"

namespace reap::drag {

struct Block {
    uint32_t birth; // 0: none of ours
    uint32_t size;  // kHuge and more: kHuge
};

inline constexpr uint32_t kHuge = UINT32_MAX;
inline constexpr uintptr_t kBlocks = kShadow + kShadowBytes;
inline constexpr uintptr_t kBlocksBytes = kShadowBytes / 2;

bool map_blocks() noexcept;

// A slot for each sixteen bytes, of which those where a block begins are used.
inline Block *block_at(const void *pointer) noexcept {
    return reinterpret_cast<Block *>(kBlocks +
                                     ((reinterpret_cast<uintptr_t>(pointer) & kAllAddresses) >> 4) * 8);
}

// Notes that blocks begin near here, for `each_block`.
void note_region(const void *pointer) noexcept;

// Calls back with (address, block) for each that is in use. Costs a look at all memory that ever had a block.
void each_block(void (*each)(uintptr_t, Block &)) noexcept;

// The nearest block in use that begins there or below; null: there is none. Costs a look at what is between.
struct Neighbour {
    uintptr_t address;
    const Block *block;
};
Neighbour block_below(uintptr_t address) noexcept;

} // namespace reap::drag
