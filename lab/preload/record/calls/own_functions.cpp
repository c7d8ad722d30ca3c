// Our functions for allocators' own ones: see own_slots.h. They record as the C functions do.
//
// Such a function may call malloc or free by name, which must not be recorded a second time. This cannot be
// guarded where it may throw (mi_new): those functions call neither.
#include <cstring>

#include "own_slots.h"
#include "slow_path.h"

using namespace reap::preload;

namespace {

constexpr size_t kTooLarge = SIZE_MAX; // of a product that overflows: it is refused

size_t product(size_t count, size_t size) noexcept {
    size_t total;
    return __builtin_mul_overflow(count, size, &total) ? kTooLarge : total;
}

// The trace has the exponent.
size_t known_alignment(size_t alignment) noexcept {
    return (alignment & (alignment - 1)) == 0 ? alignment : 0;
}

// MALLOCX_ALIGN: the lowest six bits of the flags are the exponent.
size_t alignment_of(int flags) noexcept {
    const unsigned exponent = static_cast<unsigned>(flags) & 63;
    return exponent != 0 ? size_t{1} << exponent : 0;
}

template <class Invoke>
void *allocate_throwing(reap_call call, size_t size, size_t alignment, Invoke invoke) {
    if (thread_state.inside_operator) return invoke();
    thread_state.spend(size);
    return allocate_slow(call, size, known_alignment(alignment), invoke);
}

template <class Invoke>
void *allocate(reap_call call, size_t size, size_t alignment, Invoke invoke) {
    return allocate_throwing(call, size, alignment, [invoke]() -> void * {
        ThreadState &thread = thread_state;
        if (thread.inside_operator) return invoke();
        const InsideOperator inside(thread);
        return invoke();
    });
}

template <class Invoke>
void *reallocate(reap_call call, void *pointer, size_t size, Invoke invoke) {
    if (thread_state.inside_operator) return invoke();
    thread_state.spend(size);
    const auto guarded = [](void *context) -> void * {
        const InsideOperator inside(thread_state);
        return (*static_cast<Invoke *>(context))();
    };
    return realloc_by(guarded, &invoke, call, pointer, size);
}

template <class Invoke>
void release(void *pointer, Invoke invoke) {
    if (pointer == nullptr || thread_state.inside_operator) return invoke();
    if (!note_free(REAP_CALL_FREE, pointer)) return;
    const InsideOperator inside(thread_state);
    invoke();
}

template <auto kFunction>
void *address_of() noexcept {
    return reinterpret_cast<void *>(kFunction);
}

} // namespace

// Begins the definition of our function for `symbol`, of which `real_<symbol>` calls the allocator's.
#define REAP_OWN(Result, symbol, ...)                                                                        \
    static Result own_##symbol(__VA_ARGS__);                                                                 \
    REAP_OWN_FUNCTION(next_##symbol){#symbol, address_of<&own_##symbol>};                                    \
    template <class... Arguments>                                                                            \
    static Result real_##symbol(Arguments... arguments) {                                                    \
        return reinterpret_cast<Result (*)(__VA_ARGS__)>(next_##symbol.real)(arguments...);                  \
    }                                                                                                        \
    static Result own_##symbol(__VA_ARGS__)

// jemalloc

REAP_OWN(void *, mallocx, size_t size, int flags) {
    return allocate(REAP_CALL_MALLOC, size, alignment_of(flags), [=] { return real_mallocx(size, flags); });
}

REAP_OWN(void *, rallocx, void *pointer, size_t size, int flags) {
    return reallocate(REAP_CALL_REALLOC, pointer, size, [=] { return real_rallocx(pointer, size, flags); });
}

REAP_OWN(void, dallocx, void *pointer, int flags) {
    release(pointer, [=] { real_dallocx(pointer, flags); });
}

REAP_OWN(void, sdallocx, void *pointer, size_t size, int flags) {
    release(pointer, [=] { real_sdallocx(pointer, size, flags); });
}

REAP_OWN(size_t, sallocx, const void *pointer, int flags) { return real_sallocx(pointer, flags); }

// Resizes in place, and returns the size that the block has then: a reallocation if that is another.
REAP_OWN(size_t, xallocx, void *pointer, size_t size, size_t extra, int flags) {
    if (thread_state.inside_operator || next_sallocx.real == nullptr)
        return real_xallocx(pointer, size, extra, flags);
    const size_t before = real_sallocx(pointer, flags);
    size_t after;
    {
        const InsideOperator inside(thread_state);
        after = real_xallocx(pointer, size, extra, flags);
    }
    if (after != before) reallocate(REAP_CALL_REALLOC, pointer, after, [=] { return pointer; });
    return after;
}

// mimalloc

REAP_OWN(void *, mi_malloc, size_t size) {
    return allocate(REAP_CALL_MALLOC, size, 0, [=] { return real_mi_malloc(size); });
}

REAP_OWN(void *, mi_malloc_small, size_t size) {
    return allocate(REAP_CALL_MALLOC, size, 0, [=] { return real_mi_malloc_small(size); });
}

REAP_OWN(void *, mi_mallocn, size_t count, size_t size) {
    return allocate(REAP_CALL_MALLOC, product(count, size), 0, [=] { return real_mi_mallocn(count, size); });
}

REAP_OWN(void *, mi_zalloc, size_t size) {
    return allocate(REAP_CALL_CALLOC, size, 0, [=] { return real_mi_zalloc(size); });
}

REAP_OWN(void *, mi_zalloc_small, size_t size) {
    return allocate(REAP_CALL_CALLOC, size, 0, [=] { return real_mi_zalloc_small(size); });
}

REAP_OWN(void *, mi_calloc, size_t count, size_t size) {
    return allocate(REAP_CALL_CALLOC, product(count, size), 0, [=] { return real_mi_calloc(count, size); });
}

REAP_OWN(char *, mi_strdup, const char *text) {
    if (text == nullptr) return real_mi_strdup(text);
    return static_cast<char *>(
        allocate(REAP_CALL_MALLOC, strlen(text) + 1, 0, [=] { return real_mi_strdup(text); }));
}

REAP_OWN(char *, mi_strndup, const char *text, size_t most) {
    if (text == nullptr) return real_mi_strndup(text, most);
    return static_cast<char *>(
        allocate(REAP_CALL_MALLOC, strnlen(text, most) + 1, 0, [=] { return real_mi_strndup(text, most); }));
}

REAP_OWN(void *, mi_realloc, void *pointer, size_t size) {
    return reallocate(REAP_CALL_REALLOC, pointer, size, [=] { return real_mi_realloc(pointer, size); });
}

REAP_OWN(void *, mi_rezalloc, void *pointer, size_t size) {
    return reallocate(REAP_CALL_REALLOC, pointer, size, [=] { return real_mi_rezalloc(pointer, size); });
}

REAP_OWN(void *, mi_reallocn, void *pointer, size_t count, size_t size) {
    return reallocate(REAP_CALL_REALLOCARRAY, pointer, product(count, size),
                      [=] { return real_mi_reallocn(pointer, count, size); });
}

REAP_OWN(void *, mi_reallocarray, void *pointer, size_t count, size_t size) {
    return reallocate(REAP_CALL_REALLOCARRAY, pointer, product(count, size),
                      [=] { return real_mi_reallocarray(pointer, count, size); });
}

REAP_OWN(void *, mi_recalloc, void *pointer, size_t count, size_t size) {
    return reallocate(REAP_CALL_REALLOCARRAY, pointer, product(count, size),
                      [=] { return real_mi_recalloc(pointer, count, size); });
}

REAP_OWN(void *, mi_realloc_aligned, void *pointer, size_t size, size_t alignment) {
    return reallocate(REAP_CALL_REALLOC, pointer, size,
                      [=] { return real_mi_realloc_aligned(pointer, size, alignment); });
}

REAP_OWN(void *, mi_rezalloc_aligned, void *pointer, size_t size, size_t alignment) {
    return reallocate(REAP_CALL_REALLOC, pointer, size,
                      [=] { return real_mi_rezalloc_aligned(pointer, size, alignment); });
}

REAP_OWN(void *, mi_malloc_aligned, size_t size, size_t alignment) {
    return allocate(REAP_CALL_ALIGNED_ALLOC, size, alignment,
                    [=] { return real_mi_malloc_aligned(size, alignment); });
}

REAP_OWN(void *, mi_zalloc_aligned, size_t size, size_t alignment) {
    return allocate(REAP_CALL_ALIGNED_ALLOC, size, alignment,
                    [=] { return real_mi_zalloc_aligned(size, alignment); });
}

REAP_OWN(void *, mi_calloc_aligned, size_t count, size_t size, size_t alignment) {
    return allocate(REAP_CALL_ALIGNED_ALLOC, product(count, size), alignment,
                    [=] { return real_mi_calloc_aligned(count, size, alignment); });
}

REAP_OWN(void *, mi_memalign, size_t alignment, size_t size) {
    return allocate(REAP_CALL_MEMALIGN, size, alignment, [=] { return real_mi_memalign(alignment, size); });
}

REAP_OWN(void *, mi_aligned_alloc, size_t alignment, size_t size) {
    return allocate(REAP_CALL_ALIGNED_ALLOC, size, alignment,
                    [=] { return real_mi_aligned_alloc(alignment, size); });
}

REAP_OWN(int, mi_posix_memalign, void **out, size_t alignment, size_t size) {
    if (out == nullptr) return real_mi_posix_memalign(out, alignment, size);
    int error = 0;
    void *block = nullptr;
    void *pointer = allocate(REAP_CALL_POSIX_MEMALIGN, size, alignment, [&, alignment, size]() -> void * {
        error = real_mi_posix_memalign(&block, alignment, size);
        return error == 0 ? block : nullptr;
    });
    if (error == 0) *out = pointer;
    return error;
}

REAP_OWN(void *, mi_valloc, size_t size) {
    return allocate(REAP_CALL_VALLOC, size, 4096, [=] { return real_mi_valloc(size); });
}

REAP_OWN(void *, mi_pvalloc, size_t size) {
    return allocate(REAP_CALL_PVALLOC, size, 4096, [=] { return real_mi_pvalloc(size); });
}

REAP_OWN(void *, mi_new, size_t size) {
    return allocate_throwing(REAP_CALL_NEW, size, 0, [=] { return real_mi_new(size); });
}

REAP_OWN(void *, mi_new_n, size_t count, size_t size) {
    return allocate_throwing(REAP_CALL_NEW, product(count, size), 0,
                             [=] { return real_mi_new_n(count, size); });
}

REAP_OWN(void *, mi_new_aligned, size_t size, size_t alignment) {
    return allocate_throwing(REAP_CALL_NEW, size, alignment,
                             [=] { return real_mi_new_aligned(size, alignment); });
}

REAP_OWN(void *, mi_new_nothrow, size_t size) {
    return allocate_throwing(REAP_CALL_NEW, size, 0, [=] { return real_mi_new_nothrow(size); });
}

REAP_OWN(void *, mi_new_aligned_nothrow, size_t size, size_t alignment) {
    return allocate_throwing(REAP_CALL_NEW, size, alignment,
                             [=] { return real_mi_new_aligned_nothrow(size, alignment); });
}

REAP_OWN(void, mi_free, void *pointer) {
    release(pointer, [=] { real_mi_free(pointer); });
}

REAP_OWN(void, mi_cfree, void *pointer) {
    release(pointer, [=] { real_mi_cfree(pointer); });
}

REAP_OWN(void, mi_free_size, void *pointer, size_t size) {
    release(pointer, [=] { real_mi_free_size(pointer, size); });
}

REAP_OWN(void, mi_free_size_aligned, void *pointer, size_t size, size_t alignment) {
    release(pointer, [=] { real_mi_free_size_aligned(pointer, size, alignment); });
}

REAP_OWN(void, mi_free_aligned, void *pointer, size_t alignment) {
    release(pointer, [=] { real_mi_free_aligned(pointer, alignment); });
}
