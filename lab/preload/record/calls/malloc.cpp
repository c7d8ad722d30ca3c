// The C allocation functions. Each has a fast path for triage, which counts the size and tail-calls the real
// function. Everything else goes to slow_path.cpp.
//
// The fast path is taken if the thread's byte budget has not run out (so no sample is due), the size has an
// exact counter whose page is allocated, and no watched block can be involved.
#include "slow_path.h"

using namespace reap::preload;

namespace {

// Subtracts `size` from the thread's budget; returns whether the fast path may be taken.
inline bool spend(ThreadState &thread, size_t size) noexcept {
    thread.spend(size);
    return likely(thread.budget >= 0) && likely(size < thread.exact);
}

inline bool watched(const ThreadState &thread, const void *pointer) noexcept {
    return unlikely(WatchList::filter[WatchList::slot(pointer, thread.mask)] != 0);
}

// For functions that are called too rarely for a fast path.
template <class Invoke>
void *plain(reap_call call, size_t size, size_t alignment, Invoke invoke) {
    spend(thread_state, size);
    return allocate_slow(call, size, alignment, invoke);
}

} // namespace

namespace reap::preload {
constinit thread_local ThreadState thread_state __attribute__((tls_model("initial-exec")));
}

REAP_EXPORT void *malloc(size_t size) {
    ThreadState &thread = thread_state;
    if (spend(thread, size)) {
        ++thread.counts->by_size[size];
        ++thread.allocations;
        return real.malloc(size);
    }
    return allocate_slow(REAP_CALL_MALLOC, size, 0, [size] { return real.malloc(size); });
}

REAP_EXPORT void free(void *pointer) {
    const ThreadState &thread = thread_state;
    if (watched(thread, pointer)) return free_slow(pointer);
    ++thread.counts->frees;
    real.free(pointer);
}

REAP_EXPORT void *calloc(size_t count, size_t size) {
    ThreadState &thread = thread_state;
    size_t total;
    if (unlikely(__builtin_mul_overflow(count, size, &total))) total = SIZE_MAX; // refused below, and counted
    if (spend(thread, total)) {
        ++thread.counts->by_size[total];
        ++thread.allocations;
        ++thread.counts->calls[REAP_CALL_CALLOC];
        return real.calloc(count, size);
    }
    return allocate_slow(REAP_CALL_CALLOC, total, 0, [count, size] { return real.calloc(count, size); });
}

REAP_EXPORT void *realloc(void *pointer, size_t size) {
    ThreadState &thread = thread_state;
    // A size of zero may mean free, which the slow path handles.
    if (spend(thread, size) && likely(size != 0) && !watched(thread, pointer)) {
        ++thread.counts->by_size[size];
        ++thread.allocations;
        ++thread.counts->calls[REAP_CALL_REALLOC];
        ++thread.counts->frees;
        return real.realloc(pointer, size);
    }
    return realloc_slow(REAP_CALL_REALLOC, pointer, size);
}

REAP_EXPORT void *reallocarray(void *pointer, size_t count, size_t size) {
    size_t total;
    if (__builtin_mul_overflow(count, size, &total)) total = SIZE_MAX; // realloc refuses it too
    spend(thread_state, total);
    return realloc_slow(REAP_CALL_REALLOCARRAY, pointer, total);
}

REAP_EXPORT int posix_memalign(void **out, size_t alignment, size_t size) {
    int error = 0;
    void *pointer = plain(REAP_CALL_POSIX_MEMALIGN, size, alignment, [&]() -> void * {
        void *block = nullptr;
        error = real.posix_memalign(&block, alignment, size);
        return error == 0 ? block : nullptr;
    });
    if (error == 0) *out = pointer;
    return error;
}

REAP_EXPORT void *aligned_alloc(size_t alignment, size_t size) {
    return plain(REAP_CALL_ALIGNED_ALLOC, size, alignment,
                 [alignment, size] { return real.aligned_alloc(alignment, size); });
}

REAP_EXPORT void *memalign(size_t alignment, size_t size) {
    return plain(REAP_CALL_MEMALIGN, size, alignment,
                 [alignment, size] { return real.memalign(alignment, size); });
}

REAP_EXPORT void *valloc(size_t size) {
    return plain(REAP_CALL_VALLOC, size, 4096, [size] { return real.valloc(size); });
}

REAP_EXPORT void *pvalloc(size_t size) {
    return plain(REAP_CALL_PVALLOC, size, 4096, [size] { return real.pvalloc(size); });
}

REAP_EXPORT size_t malloc_usable_size(void *pointer) {
    if (reap_counts *counts = thread_state.counts) ++counts->calls[REAP_CALL_USABLE_SIZE];
    return is_bootstrap(pointer) ? 0 : real.malloc_usable_size(pointer);
}

// Registers the process even if it never allocates.
[[gnu::constructor]] static void announce() { ready(thread_state); }
