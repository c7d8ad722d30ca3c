// Walks the chunks of glibc's main heap, from its start to its top, without a lock.
//
// Layout: malloc/malloc.c of glibc ("A `malloc_chunk'"), unchanged since 2.0 on 64 bits: 8 bytes that belong
// to the previous chunk, then the size, whose lowest bit says whether the previous chunk is in use.
#pragma once

#include <cstdint>

#include "reap_resident.h"

namespace reap::preload {

// Describes the heap from `begin` to `end`, the program break. False if it cannot be read, is not a glibc
// heap, or changed inconsistently during the walk; then `walk` is not valid.
//
// Reads every page that holds the head of a chunk, through the kernel, so that a heap that shrinks meanwhile
// causes an error instead of a crash; pages inside a chunk are never touched. About 0.5 us per page.
bool walk_heap(uint64_t begin, uint64_t end, reap_resident_walk &walk) noexcept;

// The current program break.
uint64_t current_break() noexcept;

// The program break at the start of the process; 0 if unknown. Call before there are threads: it opens a
// file.
uint64_t initial_break() noexcept;

} // namespace reap::preload
