// Which blocks of malloc pools have put objects into: these are chunks, and the objects count in their stead.
#pragma once

#include <cstddef>
#include <cstdint>

namespace reap::drag {

// All of it under the engine's lock.

// An object is put there: the block around it, if there is one, is a chunk. Costs a look for the nearest
// block below, once for each page of a chunk.
void carve(uintptr_t object) noexcept;
// Whether that was ever done. Until then no block is a chunk, and none of the following need be asked.
extern bool any_objects __attribute__((visibility("hidden")));
// A block was allocated, or is about to be freed; the second says whether it is a chunk.
void block_born(uintptr_t block, size_t size) noexcept;
bool block_died(uintptr_t block, size_t size) noexcept;
// Whether it is one, and stays one.
bool is_chunk(uintptr_t block) noexcept;

} // namespace reap::drag
