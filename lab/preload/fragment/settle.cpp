#include "settle.h"

#include <cstddef>
#include <cstdlib>

// Bound by the loader if the allocator has them. (A dlsym that fails would allocate.)
extern "C" {
[[gnu::weak]] int mallctl(const char *name, void *old, size_t *old_length, void *fresh, size_t fresh_length);
[[gnu::weak]] void mi_collect(bool force);
}

namespace reap::preload {

void settle_glibc() noexcept {
    // A large request consolidates the fast bins, and sorts up to ten thousand chunks of the unsorted bin
    // (MAX_ITERS in malloc.c). This size exceeds the thread cache's and is below the minimum mmap threshold.
    constexpr size_t kRequest = 65536;
    void *volatile block = malloc(kRequest); // volatile, so that the pair is not optimised away
    free(block);
}

void settle_others() noexcept {
    if (mallctl != nullptr) mallctl("thread.tcache.flush", nullptr, nullptr, nullptr, 0);
    if (mi_collect != nullptr) mi_collect(false);
}

} // namespace reap::preload
