#include "settle.h"

#include <cstddef>
#include <cstdlib>

// Bound by the loader where the allocator has them. (To ask by dlsym would allocate where it has not.)
extern "C" {
[[gnu::weak]] int mallctl(const char *name, void *old, size_t *old_length, void *fresh, size_t fresh_length);
[[gnu::weak]] void mi_collect(bool force);
}

namespace reap::preload {

void settle_glibc() noexcept {
    // A request that is no small one empties the fast bins, and on the way to a block that fits sorts up to
    // ten thousand of the unsorted (MAX_ITERS in malloc.c). This size is beyond the thread's cache, and below
    // the smallest threshold from which blocks come by mmap.
    constexpr size_t kRequest = 65536;
    void *volatile block = malloc(kRequest); // volatile: the compiler may drop a pair without a use
    free(block);
}

void settle_others() noexcept {
    if (mallctl != nullptr) mallctl("thread.tcache.flush", nullptr, nullptr, nullptr, 0);
    if (mi_collect != nullptr) mi_collect(false);
}

} // namespace reap::preload
