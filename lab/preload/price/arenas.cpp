// libreap-price-arenas.so: glibc's malloc with an arena for each thread, whatever the environment or the
// program itself limited.
//
// What a program gains here is what waiting for an arena's lock costs. A block that another thread frees goes
// back to its own arena, as ever. Arenas keep their free tops: that each returns its own to the kernel is
// another cost.
#include <cstddef>
#include <dlfcn.h>
#include <malloc.h>

#include "foreign.h"
#include "real.h"

namespace reap::preload {
namespace {

constexpr int kMostArenas = 1 << 16;
constexpr int kMostKept = 1 << 30;

int (*next_mallopt)(int, int);

} // namespace

struct Own {
    static void *allocate(size_t size) noexcept { return real.malloc(size); }
    static void *allocate_zeroed(size_t size) noexcept { return real.calloc(1, size); }
    static void *allocate_aligned(size_t alignment, size_t size) noexcept {
        return real.memalign(alignment, size);
    }
    static void *resize(void *pointer, size_t size) noexcept { return resize_foreign(pointer, size); }
    static void release(void *pointer) noexcept {
        if (likely(!is_bootstrap(pointer))) real.free(pointer);
    }
    static size_t usable(void *pointer) noexcept { return usable_of_foreign(pointer); }
};

[[gnu::constructor]] static void start() {
    resolve_real();
    next_mallopt = reinterpret_cast<int (*)(int, int)>(dlsym(RTLD_NEXT, "mallopt"));
    if (next_mallopt == nullptr) return;
    next_mallopt(M_ARENA_MAX, kMostArenas);
    next_mallopt(M_TRIM_THRESHOLD, kMostKept);
}

} // namespace reap::preload

// All settings are the program's own but the number of arenas.
REAP_EXPORT int mallopt(int parameter, int value) {
    using namespace reap::preload;
    if (parameter == M_ARENA_MAX || parameter == M_ARENA_TEST || next_mallopt == nullptr) return 1;
    return next_mallopt(parameter, value);
}

#include "functions.h"
