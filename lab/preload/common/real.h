// The real allocator: the next definition of every entry point, whichever object provides it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace reap::preload {

// Initially the pointers refer to functions that resolve them, so that the recorder's paths need no check.
struct RealAllocator {
    void *(*malloc)(size_t);
    void (*free)(void *);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void *(*reallocarray)(void *, size_t, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    void *(*memalign)(size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
    size_t (*malloc_usable_size)(void *);
};

extern RealAllocator real;

// Resolves the real functions, once. Callable by any thread at any time. A constructor does it at the latest.
void resolve_real() noexcept;

inline constexpr size_t kBootstrapBytes = 65536;
extern unsigned char bootstrap_bytes[kBootstrapBytes];

// Whether `pointer` was allocated before the real allocator was resolved; such blocks are never freed.
inline bool is_bootstrap(const void *pointer) noexcept {
    const auto base = reinterpret_cast<uintptr_t>(bootstrap_bytes);
    return reinterpret_cast<uintptr_t>(pointer) - base < kBootstrapBytes;
}

// The address range of such blocks: [begin, end).
struct Range {
    const void *begin;
    const void *end;
};
Range bootstrap_range() noexcept;

// The file that contains `real.malloc`; never null, valid as long as the process.
const char *real_provider() noexcept;

// Whether calls to malloc in this process reach the recorder: an executable with its own allocator, or a
// preload before ours, would intercept them.
bool calls_reach_us() noexcept;

// Whether `function` is in the same file as the real malloc: the allocator defines this entry point itself.
bool belongs_to_allocator(const void *function) noexcept;

} // namespace reap::preload
