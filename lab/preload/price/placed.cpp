// libreap-price-placed.so: blocks lie where libreap-price-recycle.so puts them, and glibc's cost is paid as
// well: each has a shadow, a block of the malloc behind us that is allocated and freed with it and never
// touched.
//
// What a program gains here is due to where blocks lie, not to what malloc costs.
#include "recycling.h"

namespace reap::preload {

constinit const bool kShadowed = true;

struct Own : Recycling {
    static void *allocate(size_t size) noexcept {
        void *const block = Recycling::allocate(size);
        if (likely(heap.owns(block))) *heap.shadow_of(block) = real.malloc(size);
        return block;
    }

    static void *allocate_zeroed(size_t size) noexcept {
        void *const block = Recycling::allocate_zeroed(size);
        if (likely(heap.owns(block))) *heap.shadow_of(block) = real.malloc(size);
        return block;
    }

    static void *allocate_aligned(size_t alignment, size_t size) noexcept {
        void *const block = Recycling::allocate_aligned(alignment, size);
        if (likely(heap.owns(block))) *heap.shadow_of(block) = real.memalign(alignment, size);
        return block;
    }

    static void *resize(void *pointer, size_t size) noexcept {
        if (unlikely(!heap.owns(pointer))) return resize_foreign(pointer, size);
        const size_t old = heap.usable(pointer);
        return still_fits(old, size) ? pointer : move_block<Own>(pointer, old, size);
    }

    static void release(void *pointer) noexcept {
        if (unlikely(!heap.owns(pointer))) return release_foreign(pointer);
        void *const shadow = *heap.shadow_of(pointer);
        const ErrnoGuard keep;
        if (likely(!is_bootstrap(shadow))) real.free(shadow);
        heap.release(pointer);
    }
};

[[gnu::constructor]] static void start() { start_recycling(); }

} // namespace reap::preload

#include "functions.h"
