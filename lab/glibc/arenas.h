// Finds glibc's arenas and their heaps, in a process of which only the C library's data is known.
//
// Layout: malloc/malloc.c and malloc/arena.c of glibc, 2.26 to 2.41 on 64 bits. The main arena lies in the C
// library's data. It is recognised by its 127 bins, of which an empty one points to itself, and by its list
// of arenas, which comes back to it. A heap of another arena begins at a multiple of 64 MiB, with its arena.
#pragma once

#include <cstdint>

#include "heap_walk.h"

namespace reap::glibc {

class Arenas {
  public:
    // The C library's data lies in [begin, end), which stays mapped.
    void look_in(uint64_t begin, uint64_t end) noexcept {
        begin_ = begin;
        end_ = end;
    }

    // Finds the main arena, unless it was found before. False where it is not: malloc was not called yet, or
    // this glibc is laid out in another way. Reads the C library's data once per call until then.
    bool find() noexcept;

    [[nodiscard]] uint64_t main() const noexcept { return main_; }

    // The arena after `arena`, in a list that comes back to the main one; 0 if it cannot be read.
    [[nodiscard]] uint64_t next(uint64_t arena) const noexcept;

    // Bytes that the arena has from the system.
    [[nodiscard]] uint64_t system_bytes(uint64_t arena) const noexcept;

    // Bytes that blocks with a mapping each have, of a main heap that begins at `first`: the words before
    // that address in the library's data. False where they are not found.
    bool mapped_bytes(uint64_t first, uint64_t &bytes) const noexcept;

    // The last of the heaps of an arena beside the main one; and the one before `heap`. False if there is no
    // further one, with `valid` false if the arena changed meanwhile.
    bool last_heap(uint64_t arena, Heap &heap, bool &valid) const noexcept;
    bool heap_before(uint64_t arena, Heap &heap, bool &valid) const noexcept;

    // Adds what lies in the arena's fastbins, at most `most` chunks. `mangled`: links are stored as
    // since 2.32. Returns their bytes. About 0.5 us a chunk.
    uint64_t add_fast_chunks(uint64_t arena, bool mangled, uint64_t most, FastChunks &fast) const noexcept;

  private:
    bool describe(uint64_t arena, uint64_t begin, Heap &heap) const noexcept;
    static uint64_t main_of(uint64_t bins) noexcept;

    uint64_t begin_ = 0;
    uint64_t end_ = 0;
    uint64_t main_ = 0;
    uint64_t bins_ = 0; // their distance from an arena's begin
};

} // namespace reap::glibc
