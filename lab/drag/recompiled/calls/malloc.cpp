// The allocation functions of C: the allocator's own, and a word to the engine.
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "engine.h"
#include "objects/blocks.h"
#include "objects/shadow.h"
#include "real.h"

using namespace reap::preload;
using namespace reap::drag;

// The program's own call: its frame and where it came from. (In the function itself, which a compiler may not
// inline: it is exported.)
#define REAP_HERE __builtin_frame_address(0), __builtin_return_address(0)

REAP_EXPORT void *malloc(size_t size) {
    void *pointer = real.malloc(at_least_a_block(size));
    born(pointer, size, REAP_HERE);
    return pointer;
}

REAP_EXPORT void free(void *pointer) {
    if (is_bootstrap(pointer)) return;
    died(pointer);
    real.free(pointer);
}

REAP_EXPORT void *calloc(size_t count, size_t size) {
    size_t total;
    const bool fits = !__builtin_mul_overflow(count, size, &total);
    void *pointer = fits && total < sizeof(Block) ? real.calloc(1, sizeof(Block)) : real.calloc(count, size);
    born(pointer, total, REAP_HERE);
    return pointer;
}

namespace {

void copy_unmarked(void *to, const void *from, size_t size) noexcept {
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

// A free and an allocation, as the exact engine has it: the copy reads the old block before the clock's step
// and writes the new one after it. What is behind the bytes that were asked for comes along: a program may
// have used it, which malloc_usable_size told of it.
void *reallocate(void *pointer, size_t size, const void *frame, const void *caller) noexcept {
    if (pointer == nullptr) {
        void *fresh = real.malloc(at_least_a_block(size));
        born(fresh, size, frame, caller);
        return fresh;
    }
    if (size == 0) {
        free(pointer);
        return nullptr;
    }
    size_t old = size_of(pointer);
    if (old == kUnknown) return real.realloc(pointer, size);
    const size_t usable = real.malloc_usable_size(pointer);
    if (old == kHuge) old = usable;
    void *fresh = real.malloc(at_least_a_block(size));
    if (fresh == nullptr) return nullptr;
    const size_t kept = old < size ? old : size;
    mark_range<mark_read>(pointer, kept);
    died(pointer, true);
    born(fresh, size, frame, caller);
    memcpy(fresh, pointer, kept);
    if (kept == old && old < usable)
        copy_unmarked(static_cast<char *>(fresh) + old, static_cast<char *>(pointer) + old,
                      (usable < size ? usable : size) - old);
    forget_reads(reinterpret_cast<uintptr_t>(pointer), kept); // by the copy: nothing is there any more
    real.free(pointer);
    return fresh;
}

} // namespace

REAP_EXPORT void *realloc(void *pointer, size_t size) { return reallocate(pointer, size, REAP_HERE); }

REAP_EXPORT void *reallocarray(void *pointer, size_t count, size_t size) {
    size_t total;
    if (__builtin_mul_overflow(count, size, &total)) {
        errno = ENOMEM;
        return nullptr;
    }
    return reallocate(pointer, total, REAP_HERE);
}

REAP_EXPORT void *aligned_alloc(size_t alignment, size_t size) {
    void *pointer = real.aligned_alloc(alignment, at_least_a_block(size));
    born(pointer, size, REAP_HERE);
    return pointer;
}

REAP_EXPORT void *memalign(size_t alignment, size_t size) {
    void *pointer = real.memalign(alignment, at_least_a_block(size));
    born(pointer, size, REAP_HERE);
    return pointer;
}

REAP_EXPORT int posix_memalign(void **out, size_t alignment, size_t size) {
    const int error = real.posix_memalign(out, alignment, at_least_a_block(size));
    if (error == 0) born(*out, size, REAP_HERE);
    return error;
}

REAP_EXPORT void *valloc(size_t size) {
    void *pointer = real.valloc(size);
    born(pointer, size, REAP_HERE);
    return pointer;
}

REAP_EXPORT void *pvalloc(size_t size) {
    void *pointer = real.pvalloc(size);
    born(pointer, size, REAP_HERE);
    return pointer;
}

[[gnu::constructor]] static void begin(int, char **, char **environment) { start(environment); }
[[gnu::destructor]] static void end() { finish(REAP_DRAG_EXITED); }
