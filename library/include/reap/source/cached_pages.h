#pragma once

#include <cstddef>

#include "reap/core/loaded.h"
#include "reap/core/source.h"
#include "reap/source/chunk_cache.h"
#include "reap/source/system_pages.h"

namespace reap::inline REAP_MODE {

/// A source's chunks through a per-thread ChunkCache. The source is stateless, and serves all threads.
///
/// Stateless: all copies are equal, in every thread. Memory may be freed in another thread than the one that
/// allocated it, and is cached there. A thread's cache is returned to the source when the thread ends. At
/// most ChunkCache::default_capacity bytes are cached per thread; trim() returns this thread's.
template <Source Upstream>
class ThreadChunks {
  public:
    [[nodiscard]] static Allocation try_allocate_at_least(std::size_t size, std::size_t alignment) noexcept {
        const Allocation kept = lists_.try_allocate_cached(size, alignment);
        return kept.data != nullptr ? kept : allocate_slow(size, alignment);
    }
    [[nodiscard, gnu::always_inline]] static Allocation try_allocate_cached(std::size_t size,
                                                                            std::size_t alignment) noexcept {
        return lists_.try_allocate_cached(size, alignment);
    }
    [[nodiscard]] static void *try_allocate(std::size_t size, std::size_t alignment) noexcept {
        return try_allocate_at_least(size, alignment).data;
    }
    [[gnu::always_inline]] static void deallocate(void *data, std::size_t size,
                                                  std::size_t alignment) noexcept {
        if (!lists_.try_keep(data, size, alignment)) [[unlikely]]
            deallocate_slow(data, size, alignment);
    }
    /// Returns what this thread's cache holds to the source.
    static void trim() noexcept { lists_.trim(); }
    /// Bytes in this thread's cache.
    [[nodiscard]] static std::size_t held() noexcept { return lists_.held(); }

    friend bool operator==(ThreadChunks, ThreadChunks) noexcept = default;

  private:
    /// No list has a chunk. The caller may be a destructor that dlclose() runs, when it is too late to keep
    /// the code loaded that empties the lists.
    [[gnu::noinline]] static Allocation allocate_slow(std::size_t size, std::size_t alignment) noexcept {
        if (!__atomic_exchange_n(&is_kept_loaded_, true, __ATOMIC_RELAXED))
            detail::keep_loaded(reinterpret_cast<const void *>(&deallocate_slow));
        return lists_.try_allocate_at_least(size, alignment);
    }

    /// Empties the lists when its thread ends. What the thread frees after that is returned to the system
    /// directly.
    struct Emptier {
        ~Emptier() {
            lists_.set_capacity(0);
            closed_ = true;
        }
    };

    /// The lists are full, or this is the first chunk that the thread frees.
    [[gnu::noinline]] static void deallocate_slow(void *data, std::size_t size,
                                                  std::size_t alignment) noexcept {
        if (lists_.capacity() == 0 && !closed_) {
            thread_local const Emptier emptier;
            lists_.set_capacity(ChunkLists<Upstream>::default_capacity);
            if (lists_.try_keep(data, size, alignment)) return;
        }
        lists_.give_upstream(data, size, alignment);
    }

    // Without constructor or destructor, so that an access needs no call to check whether they live yet.
    static inline constinit thread_local ChunkLists<Upstream> lists_{0};
    static inline constinit thread_local bool closed_ = false;
    static inline constinit bool is_kept_loaded_ = false;
};

/// The system's pages through a per-thread ChunkCache: the default source of layers.
using CachedPages = ThreadChunks<SystemPages>;

} // namespace reap::inline REAP_MODE
