// A walk over the chunks of glibc's main heap, from its begin to its top, without a lock.
//
// Layout: malloc/malloc.c of glibc ("A `malloc_chunk'"), the same since 2.0 on 64 bits: behind 8 bytes that
// belong to the chunk before stands the size, whose lowest bit says whether the chunk before is in use.
#pragma once

#include <cstdint>

#include "reap_resident.h"

namespace reap::preload {

// What the heap from `begin` to `end`, the break, is made of. False where it cannot be read, is no heap of
// glibc's, or changed under the walk so that nothing fits: then `walk` says nothing.
//
// Reads one page for every page that holds the head of a chunk, through the kernel, so that a heap that
// shrinks meanwhile is an error and no crash; pages inside a chunk are never touched. Some 0.5 us a page.
bool walk_heap(uint64_t begin, uint64_t end, reap_resident_walk &walk) noexcept;

// Where the break is now.
uint64_t present_break() noexcept;

// Where the break was when the process began; 0 if it cannot be seen. Call before there are threads: it opens
// a file.
uint64_t first_break() noexcept;

} // namespace reap::preload
