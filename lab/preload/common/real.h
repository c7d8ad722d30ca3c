// The allocator behind the recorder: the next definition of every entry point, whoever provides it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace reap::preload {

// Before they are resolved the pointers lead to functions that resolve them, so that the recorder's paths
// never ask whether that has happened.
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

// Finds the real functions; does so once. Any thread, any time.
void resolve_real() noexcept;

inline constexpr size_t kBootstrapBytes = 65536;
extern unsigned char bootstrap_bytes[kBootstrapBytes];

// Whether `pointer` was handed out before the real allocator could be found; such blocks are never given
// back.
inline bool is_bootstrap(const void *pointer) noexcept {
    const auto base = reinterpret_cast<uintptr_t>(bootstrap_bytes);
    return reinterpret_cast<uintptr_t>(pointer) - base < kBootstrapBytes;
}

// Where such blocks lie: [begin, end).
struct Range {
    const void *begin;
    const void *end;
};
Range bootstrap_range() noexcept;

// The file that `real.malloc` lies in; never null. Lives as long as the process.
const char *real_provider() noexcept;

// Whether calls to malloc in this process come to the recorder at all: an executable with an allocator of its
// own, or a preload before ours, takes them away.
bool calls_reach_us() noexcept;

// The next definition of `symbol`, even in a C++ runtime that was opened with local scope; null if none.
void *next_symbol(const char *symbol) noexcept;

// Whether `function` lies in the same file as the real malloc: the allocator brings this entry point itself.
bool belongs_to_allocator(const void *function) noexcept;

} // namespace reap::preload
