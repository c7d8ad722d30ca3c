// Of each block in use: when it was born, and how large it is; found by its address, in the slots of its
// first sixteen bytes, which are always its own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "objects/shadow.h"

namespace reap::drag {

struct Block {
    uint32_t first; // of the block's last accesses
    uint32_t birth; // 0: none of ours
    uint32_t second;
    uint32_t size; // kHuge and more: kHuge
};
static_assert(sizeof(Block) == 2 * sizeof(Slot));

inline constexpr uint32_t kHuge = UINT32_MAX;

// What the allocator is asked for: some have blocks of eight bytes, two of which would share a record.
inline size_t at_least_a_block(size_t size) noexcept { return size < sizeof(Block) ? sizeof(Block) : size; }

inline Block *block_at(const void *pointer) noexcept {
    return reinterpret_cast<Block *>(slot_of(reinterpret_cast<uintptr_t>(pointer) & ~uintptr_t{15}));
}

// Notes that blocks, the first of this size, begin near here, for `each_block`. A region is 2 MB of the
// program's memory.
inline constexpr unsigned kRegion = 21;
extern uint64_t regions[(kShadowBytes >> kRegion) / 64]; // a bit each
inline bool is_noted(uintptr_t region) noexcept {
    region %= kShadowBytes >> kRegion;
    return (regions[region / 64] >> region % 64 & 1) != 0;
}
void note_new_region(const void *pointer, size_t size) noexcept;
inline void note_region(const void *pointer, size_t size) noexcept {
    if (preload::unlikely(!is_noted(reinterpret_cast<uintptr_t>(pointer) >> kRegion)))
        note_new_region(pointer, size);
}

// Calls back with (address, block) for each that is in use. Costs a look at all memory that ever had a block.
void each_block(void (*each)(uintptr_t, Block &)) noexcept;

// The nearest block in use that begins there or below; null: there is none. Costs a look at what is between.
struct Neighbour {
    uintptr_t address;
    const Block *block;
};
Neighbour block_below(uintptr_t address) noexcept;

} // namespace reap::drag
