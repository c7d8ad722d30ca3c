// Walks the chunks of a heap of glibc, from its start to its top, without a lock.
//
// Layout: malloc/malloc.c of glibc ("A `malloc_chunk'"), unchanged since 2.0 on 64 bits: 8 bytes that belong
// to the previous chunk, then the size, whose lowest bit says whether the previous chunk is in use.
#pragma once

#include <cstdint>

#include "fast_chunks.h"
#include "reap_resident.h"
#include "thread_caches.h"

namespace reap::glibc {

// A heap, or one of the heaps of an arena.
struct Heap {
    uint64_t begin = 0;  // of its memory, a page
    uint64_t chunks = 0; // where the first chunk is
    uint64_t end = 0;    // of the memory that it has in use
    bool main = true;    // the one of brk
    bool has_top =
        true; // false for one that was full when its arena got another: it ends with two fenceposts
};

// Describes the heap. False if it cannot be read, is not a glibc heap, or changed inconsistently during the
// walk; then `walk` is not valid. Chunks of `fast` count as free, and are joined with their free neighbours.
//
// Reads every page that holds the head of a chunk, through the kernel, so that a heap that shrinks meanwhile
// causes an error instead of a crash; pages inside a chunk are never touched. About 0.5 us per page.
bool walk_heap(const Heap &heap, FastChunks &fast, ThreadCaches &caches, reap_resident_walk &walk) noexcept;

// The main heap, from `begin` to `end`, the program break.
Heap main_heap(uint64_t begin, uint64_t end) noexcept;

// Adds the sizes of a heap to those of others.
void add_walk(reap_resident_walk &sum, const reap_resident_walk &walk) noexcept;

} // namespace reap::glibc
