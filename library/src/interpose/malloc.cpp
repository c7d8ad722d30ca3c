// The allocation functions of C, as malloc(3), posix_memalign(3) and C23 have them.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <malloc.h>
#include <stdlib.h>

#include "reap/core/size.h"
#include "reap/interpose/misused.h"
#include "reap/source/system_pages.h"
#include "served.h"

using reap::is_alignment;

// Declared as in the C library.
#if defined(__GLIBC__)
#define AS_DECLARED noexcept
#else
#define AS_DECLARED
#endif

namespace {

// Sets errno for a request that cannot be met.
[[gnu::always_inline]] inline void *answer(void *object) noexcept {
    if (object == nullptr) [[unlikely]]
        errno = ENOMEM;
    return object;
}

[[gnu::noinline]] void *malloc_slow(std::size_t size) noexcept {
    return answer(Served::allocate(size, Served::granule));
}

// A heap that has scopes; without a frame of its own.
template <class Heap>
[[gnu::noinline]] void *malloc_in_scope(std::size_t size) noexcept {
    void *object = nullptr;
    if constexpr (requires { Heap::allocate_in_scope(size); }) object = Heap::allocate_in_scope(size);
    return object != nullptr ? object : malloc_slow(size);
}

void *aligned(std::size_t alignment, std::size_t size) noexcept {
    if (!is_alignment(alignment)) {
        errno = EINVAL;
        return nullptr;
    }
    return answer(alignment <= Served::granule ? Served::allocate(size) : Served::allocate(size, alignment));
}

} // namespace

#pragma GCC visibility push(default)
extern "C" {

void *malloc(std::size_t size) AS_DECLARED {
    void *const object = Served::allocate_at_hand(size);
    if (object != nullptr) [[likely]]
        return object;
    return malloc_in_scope<Served>(size);
}

void free(void *object) AS_DECLARED { Served::free(object); }
void cfree(void *object) noexcept { free(object); }

void *calloc(std::size_t count, std::size_t size) AS_DECLARED {
    std::size_t whole = 0;
    if (__builtin_mul_overflow(count, size, &whole)) [[unlikely]]
        return answer(nullptr);
    return answer(Served::allocate_zeroed(whole));
}

// As glibc: a size of 0 frees.
void *realloc(void *object, std::size_t size) AS_DECLARED {
    if (object == nullptr) return malloc(size);
    if (size == 0) {
        free(object);
        return nullptr;
    }
    if (!Served::may_own(object)) [[unlikely]]
        reap::interpose::misused(Served::library, "realloc", object);
    return answer(Served::reallocate(object, size));
}

void *reallocarray(void *object, std::size_t count, std::size_t size) AS_DECLARED {
    std::size_t whole = 0;
    if (__builtin_mul_overflow(count, size, &whole)) return answer(nullptr);
    return realloc(object, whole);
}

int posix_memalign(void **out, std::size_t alignment, std::size_t size) AS_DECLARED {
    if (!is_alignment(alignment) || alignment % sizeof(void *) != 0) return EINVAL;
    const int before = errno; // which is not how this one answers
    void *const object = aligned(alignment, size);
    errno = before;
    if (object == nullptr) return ENOMEM;
    *out = object;
    return 0;
}

void *aligned_alloc(std::size_t alignment, std::size_t size) AS_DECLARED { return aligned(alignment, size); }

// As glibc: an invalid alignment is rounded up to the next valid one.
void *memalign(std::size_t alignment, std::size_t size) AS_DECLARED {
    if (alignment > SIZE_MAX / 2 + 1) {
        errno = EINVAL;
        return nullptr;
    }
    std::size_t next = Served::granule;
    while (next < alignment) next *= 2;
    return aligned(next, size);
}

void *valloc(std::size_t size) AS_DECLARED { return aligned(reap::page_size(), size); }

void *pvalloc(std::size_t size) noexcept {
    const std::size_t page = reap::page_size();
    if (size > SIZE_MAX - page) return answer(nullptr);
    return aligned(page, size == 0 ? page : reap::round_up(size, page));
}

std::size_t malloc_usable_size(void *object) AS_DECLARED {
    if (object == nullptr) return 0;
    if (!Served::may_own(object)) [[unlikely]]
        reap::interpose::misused(Served::library, "malloc_usable_size", object);
    return Served::usable_size(object);
}

void free_sized(void *object, std::size_t /*size*/) noexcept { free(object); }
void free_aligned_sized(void *object, std::size_t /*alignment*/, std::size_t /*size*/) noexcept {
    free(object);
}

// Names by which old programs bypass malloc: two heaps would be mixed.
void *__libc_malloc(std::size_t size) noexcept { return malloc(size); }
void __libc_free(void *object) noexcept { free(object); }
void *__libc_calloc(std::size_t count, std::size_t size) noexcept { return calloc(count, size); }
void *__libc_realloc(void *object, std::size_t size) noexcept { return realloc(object, size); }
void *__libc_memalign(std::size_t alignment, std::size_t size) noexcept { return memalign(alignment, size); }
void *__libc_valloc(std::size_t size) noexcept { return valloc(size); }
void *__libc_pvalloc(std::size_t size) noexcept { return pvalloc(size); }
int __posix_memalign(void **out, std::size_t alignment, std::size_t size) noexcept {
    return posix_memalign(out, alignment, size);
}
}
#pragma GCC visibility pop

namespace {
// Before any thread is there that could fork, and before any other library asks to be told of forks: handlers
// that are to run before a fork do so in the opposite order, and may wait for threads that allocate. So the
// heap has to be the last to take its lock. (The library is linked with -z initfirst.)
[[gnu::constructor(101)]] void begin() { Served::watch_forks(); }
} // namespace
