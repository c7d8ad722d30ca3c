// The functions of malloc, in terms of what an allocator of this folder does its own way:
//
//     void *Own::allocate(size_t size)                  null on failure; errno is not set
//     void *Own::allocate_zeroed(size_t size)
//     void *Own::allocate_aligned(size_t alignment, size_t size)
//     void *Own::resize(void *pointer, size_t size)     neither is 0 or null
//     void Own::release(void *pointer)                  may be null; keeps errno
//     size_t Own::usable(void *pointer)                 not null
//
// To be included once, after `Own`.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "platform.h"
#include "real.h"

namespace reap::preload {

// No object is larger.
inline constexpr size_t kMostBytesOfBlock = PTRDIFF_MAX;
inline constexpr size_t kPageBytes = 4096;

REAP_COLD inline void *no_memory() noexcept {
    errno = ENOMEM;
    return nullptr;
}

inline void *checked(void *block) noexcept { return likely(block != nullptr) ? block : no_memory(); }

inline void *aligned(size_t alignment, size_t size) noexcept {
    if (size > kMostBytesOfBlock - alignment) return no_memory();
    return checked(alignment <= 16 ? Own::allocate(size) : Own::allocate_aligned(alignment, size));
}

inline bool is_power_of_two(size_t number) noexcept { return number != 0 && (number & (number - 1)) == 0; }

} // namespace reap::preload

REAP_EXPORT void *malloc(size_t size) {
    using namespace reap::preload;
    if (unlikely(size > kMostBytesOfBlock)) return no_memory();
    return checked(Own::allocate(size));
}

REAP_EXPORT void free(void *pointer) { reap::preload::Own::release(pointer); }

REAP_EXPORT void *calloc(size_t count, size_t size) {
    using namespace reap::preload;
    size_t total;
    if (unlikely(__builtin_mul_overflow(count, size, &total) || total > kMostBytesOfBlock)) {
        return no_memory();
    }
    return checked(Own::allocate_zeroed(total));
}

REAP_EXPORT void *realloc(void *pointer, size_t size) {
    using namespace reap::preload;
    if (pointer == nullptr) return malloc(size);
    if (size == 0) { // as glibc does
        free(pointer);
        return nullptr;
    }
    if (unlikely(size > kMostBytesOfBlock)) return no_memory();
    return checked(Own::resize(pointer, size));
}

REAP_EXPORT void *reallocarray(void *pointer, size_t count, size_t size) {
    size_t total;
    if (__builtin_mul_overflow(count, size, &total)) return reap::preload::no_memory();
    return realloc(pointer, total);
}

REAP_EXPORT int posix_memalign(void **out, size_t alignment, size_t size) {
    using namespace reap::preload;
    if (alignment % sizeof(void *) != 0 || !is_power_of_two(alignment)) return EINVAL;
    const ErrnoGuard keep;
    void *const block = aligned(alignment, size);
    if (block == nullptr) return ENOMEM;
    *out = block;
    return 0;
}

// As glibc does: any alignment, rounded up to a power of two.
REAP_EXPORT void *memalign(size_t alignment, size_t size) {
    using namespace reap::preload;
    if (alignment > SIZE_MAX / 2 + 1) {
        errno = EINVAL;
        return nullptr;
    }
    size_t rounded = 16;
    while (rounded < alignment) rounded *= 2;
    return rounded > kMostBytesOfBlock ? no_memory() : aligned(rounded, size);
}

REAP_EXPORT void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

REAP_EXPORT void *valloc(size_t size) { return memalign(reap::preload::kPageBytes, size); }

REAP_EXPORT void *pvalloc(size_t size) {
    using namespace reap::preload;
    if (size > kMostBytesOfBlock) return no_memory();
    return memalign(kPageBytes, (size + kPageBytes - 1) & ~(kPageBytes - 1));
}

REAP_EXPORT size_t malloc_usable_size(void *pointer) {
    return pointer != nullptr ? reap::preload::Own::usable(pointer) : 0;
}
