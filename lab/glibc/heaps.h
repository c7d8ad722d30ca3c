// Walks all heaps of glibc: the main one, and those of its other arenas.
#pragma once

#include <cstdint>

#include "arenas.h"
#include "reap_resident.h"
#include "thread_caches.h"

namespace reap::glibc {

class Heaps {
  public:
    struct Found {
        reap_resident_walk main;
        reap_resident_walk others;
        reap_resident_around around;
    };

    // `version` is the C library's, as in "2.36"; its data lies in [data_begin, data_end). The main heap
    // begins at `begin`.
    void start(const char *version, uint64_t data_begin, uint64_t data_end, uint64_t begin) noexcept;

    // Describes all heaps, of which the allocator says that `fast_bytes` of `arena_bytes` lie in fastbins. A
    // heap that changes while it is walked is tried again, and counts as unread after that. False if the main
    // heap cannot be walked, or `ending` became true; then `found` is not valid. Takes no lock, and about
    // 0.5 us a page.
    bool walk(uint64_t arena_bytes, uint64_t fast_bytes, const int &ending, Found &found) noexcept;

    // Bytes that all arenas have from the kernel, as they have it now; 0 where they are not found.
    uint64_t system_bytes() noexcept;

    // Bytes of blocks with a mapping each; false where that is not found.
    bool mapped_bytes(uint64_t &bytes) const noexcept { return arenas_.mapped_bytes(begin_, bytes); }

    // Bytes of all heaps that are resident now. About 0.02 us a page: a small part of a walk.
    uint64_t resident() noexcept;

  private:
    void find_fast_chunks(uint64_t arena_bytes, uint64_t fast_bytes, Found &found) noexcept;
    bool walk_main(Found &found) noexcept;
    void walk_others(uint64_t arena, Found &found) noexcept;
    bool try_walk(const Heap &heap, reap_resident_walk &walk) noexcept;
    // Calls `take` with each arena beside the main one until it returns false. Whether that was all: the list
    // comes back to the main one.
    template <class Take>
    bool for_each_other_arena(Take take) const noexcept;
    template <class Take>
    void for_each_heap(Take take) const noexcept;

    unsigned minor_ = 0;
    uint64_t begin_ = 0;
    Arenas arenas_;
    ThreadCaches caches_;
    FastChunks fast_;
};

} // namespace reap::glibc
