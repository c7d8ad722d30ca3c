// libreap-price-cache.so: the malloc behind us with a thread cache in front of it that holds blocks of every
// size up to 1 MiB, as many as there are.
#include <cstdint>
#include <cstring>

#include "foreign.h"
#include "real.h"
#include "report.h"
#include "size_class.h"
#include "threads.h"

namespace reap::preload {
namespace {

constexpr size_t kLargestCached = size_t{1} << 20;

// What a thread may hold, as a part of what the process may take.
constexpr size_t kShare = 8;

struct Block {
    Block *next;
};

struct Cache : ThreadLinks<Cache> {
    size_t bytes;
    size_t most;
    Block *lists[kClasses];
};

struct Thread {
    Cache *cache;
    bool ended;
};

constinit thread_local Thread own __attribute__((tls_model("initial-exec"))){};
constinit Threads<Cache> threads;

// Blocks of 16 n + 8 bytes, as glibc has them, are of linear class n.
uint32_t class_for(size_t size) noexcept {
    return size <= kLinear + 8 ? class_of(size > 24 ? size - 8 : 16) : class_of(size);
}
size_t bytes_of(uint32_t index) noexcept { return size_of(index) + (index < kLinearClasses ? 8 : 0); }

// The largest class whose requests a block of `usable` bytes serves.
uint32_t class_served(size_t usable) noexcept {
    if (usable < kLinear + kStep + 8) {
        const size_t index = (usable - 8) / kStep;
        return static_cast<uint32_t>(index < kLinearClasses ? index : kLinearClasses - 1);
    }
    return class_of(usable + 1) - 1;
}

REAP_COLD Cache *acquire() noexcept {
    if (own.ended) return nullptr;
    const ErrnoGuard keep;
    Cache *const cache = threads.acquire();
    if (cache == nullptr) return nullptr;
    if (cache->most == 0) cache->most = most_bytes() / kShare + 1;
    own.cache = cache;
    threads.watch(cache);
    return cache;
}

Cache *cache_of_thread() noexcept {
    Cache *const cache = own.cache;
    return likely(cache != nullptr) ? cache : acquire();
}

Block *pop(size_t size) noexcept {
    Cache *const cache = cache_of_thread();
    if (unlikely(cache == nullptr)) return nullptr;
    const uint32_t index = class_for(size);
    Block *const block = cache->lists[index];
    if (likely(block != nullptr)) {
        cache->lists[index] = block->next;
        cache->bytes -= bytes_of(index);
    }
    return block;
}

} // namespace

struct Own {
    static void *allocate(size_t size) noexcept {
        if (unlikely(size > kLargestCached)) return real.malloc(size);
        Block *const block = pop(size);
        return likely(block != nullptr) ? block : real.malloc(bytes_of(class_for(size)));
    }

    static void *allocate_zeroed(size_t size) noexcept {
        if (unlikely(size > kLargestCached)) return real.calloc(1, size);
        Block *const block = pop(size);
        return likely(block != nullptr) ? memset(block, 0, size) : real.calloc(1, bytes_of(class_for(size)));
    }

    static void *allocate_aligned(size_t alignment, size_t size) noexcept {
        return real.memalign(alignment, size);
    }

    static void *resize(void *pointer, size_t size) noexcept { return resize_foreign(pointer, size); }

    static void release(void *pointer) noexcept {
        if (unlikely(pointer == nullptr || is_bootstrap(pointer))) return;
        const size_t usable = real.malloc_usable_size(pointer);
        Cache *const cache = cache_of_thread();
        if (unlikely(cache == nullptr || usable > kLargestCached * 5 / 4 || usable < 24)) {
            return release_foreign(pointer);
        }
        const uint32_t index = class_served(usable);
        if (unlikely(cache->bytes + bytes_of(index) > cache->most)) {
            const ErrnoGuard keep;
            report_end();
            return release_foreign(pointer);
        }
        auto *const block = static_cast<Block *>(pointer);
        block->next = cache->lists[index];
        cache->lists[index] = block;
        cache->bytes += bytes_of(index);
    }

    static size_t usable(void *pointer) noexcept { return usable_of_foreign(pointer); }
};

[[gnu::constructor]] static void start() {
    threads.start([](void *cache) {
        own = {nullptr, true};
        threads.release(static_cast<Cache *>(cache));
    });
    if (own.cache != nullptr) threads.watch(own.cache);
    open_report();
    pthread_atfork([] { threads.lock().lock(); }, [] { threads.lock().unlock(); },
                   [] { threads.lock().unlock(); });
}

} // namespace reap::preload

#include "functions.h"
