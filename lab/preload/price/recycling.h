// What libreap-price-recycle.so and libreap-price-placed.so have in common.
#pragma once

#include <cstddef>
#include <cstring>
#include <pthread.h>

#include "foreign.h"
#include "heap.h"
#include "real.h"
#include "report.h"

namespace reap::preload {

// Blocks of the heap; where it is full, of the malloc behind us.
struct Recycling {
    static void *allocate(size_t size) noexcept {
        void *const block = heap.allocate(size);
        return likely(block != nullptr) ? block : allocate_foreign(size);
    }

    static void *allocate_zeroed(size_t size) noexcept {
        bool zeroed;
        void *const block = heap.allocate(size, &zeroed);
        if (unlikely(block == nullptr)) return real.calloc(1, size);
        return zeroed ? block : memset(block, 0, size);
    }

    static void *allocate_aligned(size_t alignment, size_t size) noexcept {
        void *const block = heap.allocate_aligned(alignment, size);
        return likely(block != nullptr) ? block : real.memalign(alignment, size);
    }

    static void release(void *pointer) noexcept {
        if (likely(heap.owns(pointer))) return heap.release(pointer);
        release_foreign(pointer);
    }

    static size_t usable(void *pointer) noexcept {
        return likely(heap.owns(pointer)) ? heap.usable(pointer) : usable_of_foreign(pointer);
    }

    REAP_COLD static void *allocate_foreign(size_t size) noexcept {
        void *const block = real.malloc(size);
        if (block != nullptr) report_end();
        return block;
    }
};

// Whether a block of `usable` bytes serves `size`, and wastes less than half of itself.
inline bool still_fits(size_t usable, size_t size) noexcept { return size <= usable && size >= usable / 2; }

inline void start_recycling() noexcept {
    heap.start();
    open_report();
    pthread_atfork([] { heap.lock_all(); }, [] { heap.unlock_all(); }, [] { heap.unlock_all(); });
}

} // namespace reap::preload
