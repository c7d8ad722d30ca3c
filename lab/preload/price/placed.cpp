// libreap-price-placed.so: places blocks as libreap-price-recycle.so does, and pays for each call what the
// malloc behind us costs.
#include <cstdint>

#include "recycling.h"

namespace reap::preload {

constinit const bool kShadowed = true;

namespace {

// From this size on glibc maps each block by itself by default, so that their page faults are a cost of
// malloc.
constexpr size_t kMapped = size_t{128} << 10;
constexpr size_t kMostTouched = size_t{64} << 20;
constexpr size_t kPage = 4096;

// A block of the malloc behind us, of the same size.
void pay(void *block, size_t size, bool touches) noexcept {
    if (!heap.owns(block)) return;
    void *const shadow = real.malloc(size);
    *heap.shadow_of(block) = shadow;
    if (likely(size < kMapped) || !touches || shadow == nullptr || size > kMostTouched) return;
    auto *const bytes = static_cast<volatile unsigned char *>(shadow);
    for (size_t at = 0; at < size; at += kPage) bytes[at] = 0;
}

} // namespace

struct Own {
    static void *allocate(size_t size) noexcept {
        void *const block = Recycling::allocate(size);
        pay(block, size, true);
        return block;
    }

    static void *allocate_zeroed(size_t size) noexcept {
        void *const block = Recycling::allocate_zeroed(size);
        pay(block, size, false);
        return block;
    }

    static void *allocate_aligned(size_t alignment, size_t size) noexcept {
        void *const block = Recycling::allocate_aligned(alignment, size);
        pay(block, size, true);
        return block;
    }

    static void release(void *pointer) noexcept {
        if (unlikely(!heap.owns(pointer))) return release_foreign(pointer);
        void **const shadow = heap.shadow_of(pointer);
        release_foreign(*shadow);
        *shadow = nullptr;
        heap.release(pointer);
    }

    static size_t usable(void *pointer) noexcept { return Recycling::usable(pointer); }

    static void *resize(void *pointer, size_t size) noexcept {
        if (unlikely(!heap.owns(pointer))) return resize_foreign(pointer, size);
        const size_t old = heap.usable(pointer);
        return still_fits(old, size) ? pointer : move_block<Own>(pointer, old, size);
    }
};

[[gnu::constructor]] static void start() { start_recycling(); }

} // namespace reap::preload

#include "functions.h"
