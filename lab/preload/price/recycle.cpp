// libreap-price-recycle.so: what is left of malloc's cost where blocks are recycled by size and nothing else
// is done.
#include "recycling.h"

namespace reap::preload {

constinit const bool kShadowed = false;

struct Own : Recycling {
    static void *resize(void *pointer, size_t size) noexcept {
        if (unlikely(!heap.owns(pointer))) return resize_foreign(pointer, size);
        const size_t old = heap.usable(pointer);
        return still_fits(old, size) ? pointer : move_block<Own>(pointer, old, size);
    }
};

[[gnu::constructor]] static void start() { start_recycling(); }

} // namespace reap::preload

#include "functions.h"
