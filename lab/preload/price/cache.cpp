// libreap-price-cache.so: the malloc behind us, in front of it a cache for each thread that has every size up
// to a mebibyte and never overflows.
//
// What a program gains here is what its slow path costs: blocks come from where glibc has put them first. A
// thread keeps what it frees, whoever allocated it, and what an ended thread had goes to the next one that
// starts.
#include <cstddef>
#include <cstring>
#include <pthread.h>

#include "foreign.h"
#include "real.h"
#include "size_class.h"
#include "threads.h"

namespace reap::preload {
namespace {

constexpr size_t kMostCached = size_t{1} << 20;
constexpr size_t kLeast = 16; // a block of the malloc behind us has at least so many bytes

struct Free {
    Free *next;
};

struct CacheState : ThreadLinks<CacheState> {
    Free *lists[kClasses];
};

struct CacheThread {
    CacheState *state;
    bool ended; // its destructors run, or have run
};

constinit thread_local CacheThread cache_thread __attribute__((tls_model("initial-exec"))){};
constinit Threads<CacheState> threads;

void thread_ended(void *state) noexcept {
    cache_thread = {nullptr, true};
    threads.release(static_cast<CacheState *>(state));
}

REAP_COLD CacheState *acquire() noexcept {
    if (cache_thread.ended) return nullptr;
    const ErrnoGuard keep;
    CacheState *const state = threads.acquire();
    if (state == nullptr) return nullptr;
    cache_thread.state = state;
    threads.watch(state);
    return state;
}

inline CacheState *own_state() noexcept {
    CacheState *const state = cache_thread.state;
    return likely(state != nullptr) ? state : acquire();
}

// The largest class whose blocks fit into `usable` bytes.
inline uint32_t class_within(size_t usable) noexcept {
    const uint32_t index = class_of(usable);
    return size_of(index) <= usable ? index : index - 1;
}

// A block of this size that the thread has freed; null if it has none.
inline void *pop(uint32_t index) noexcept {
    CacheState *const state = own_state();
    if (unlikely(state == nullptr)) return nullptr;
    Free *const block = state->lists[index];
    if (block != nullptr) state->lists[index] = block->next;
    return block;
}

} // namespace

struct Own {
    static void *allocate(size_t size) noexcept {
        if (unlikely(size > kMostCached)) return real.malloc(size);
        const uint32_t index = class_of(size);
        void *const block = pop(index);
        return likely(block != nullptr) ? block : real.malloc(size_of(index));
    }

    static void *allocate_zeroed(size_t size) noexcept {
        if (unlikely(size > kMostCached)) return real.calloc(1, size);
        const uint32_t index = class_of(size);
        void *const block = pop(index);
        return block != nullptr ? memset(block, 0, size) : real.calloc(1, size_of(index));
    }

    static void *allocate_aligned(size_t alignment, size_t size) noexcept {
        return real.memalign(alignment, size);
    }

    static void *resize(void *pointer, size_t size) noexcept { return resize_foreign(pointer, size); }

    static void release(void *pointer) noexcept {
        if (unlikely(pointer == nullptr)) return;
        const size_t usable = usable_of_foreign(pointer);
        CacheState *const state = own_state();
        if (unlikely(usable < kLeast || usable > kMostCached || state == nullptr)) {
            return release_foreign(pointer);
        }
        auto *const block = static_cast<Free *>(pointer);
        Free *&list = state->lists[class_within(usable)];
        block->next = list;
        list = block;
    }

    static size_t usable(void *pointer) noexcept { return usable_of_foreign(pointer); }
};

[[gnu::constructor]] static void start() {
    resolve_real();
    threads.start(thread_ended);
    if (cache_thread.state != nullptr) threads.watch(cache_thread.state);
    pthread_atfork([] { threads.lock().lock(); }, [] { threads.lock().unlock(); },
                   [] { threads.lock().unlock(); });
}

} // namespace reap::preload

#include "functions.h"
