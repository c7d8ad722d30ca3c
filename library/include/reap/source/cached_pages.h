#pragma once

#include <atomic>
#include <cstddef>

#include "reap/core/loaded.h"
#include "reap/core/source.h"
#include "reap/source/chunk_cache.h"
#include "reap/source/system_pages.h"

namespace reap::inline REAP_MODE {

/// A source's chunks through a ChunkCache that each thread has for itself. The source has no state, and
/// serves all threads.
///
/// Has no state: any copy is any other, in every thread. Memory may be given back in another thread than the
/// one that asked for it; it is kept there. A thread's cache is given back when the thread ends. At most
/// ChunkCache::default_capacity bytes are kept for each thread; trim() gives back this thread's.
template <Source Upstream>
class ThreadChunks {
  public:
    [[nodiscard]] static Allocation try_allocate_at_least(std::size_t size, std::size_t alignment) noexcept {
        const Allocation kept = lists_.try_allocate_cached(size, alignment);
        return kept.data != nullptr ? kept : allocate_slowly(size, alignment);
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
            deallocate_slowly(data, size, alignment);
    }
    /// Gives back what this thread's cache keeps.
    static void trim() noexcept { lists_.trim(); }
    /// Bytes that this thread's cache keeps.
    [[nodiscard]] static std::size_t held() noexcept { return lists_.held(); }

    friend bool operator==(ThreadChunks, ThreadChunks) noexcept = default;

  private:
    /// No list has a chunk. Whoever gives this one back may be a destructor that dlclose() runs, when it is
    /// too late to keep the code loaded that empties the lists.
    [[gnu::noinline]] static Allocation allocate_slowly(std::size_t size, std::size_t alignment) noexcept {
        if (!is_kept_loaded_.exchange(true, std::memory_order_relaxed))
            detail::keep_loaded(reinterpret_cast<const void *>(&deallocate_slowly));
        return lists_.try_allocate_at_least(size, alignment);
    }

    /// Empties the lists when its thread ends. What the thread gives back after that goes straight to the
    /// system.
    struct Emptier {
        ~Emptier() {
            lists_.set_capacity(0);
            closed_ = true;
        }
    };

    /// The lists are full, or this is the first that the thread gives back.
    [[gnu::noinline]] static void deallocate_slowly(void *data, std::size_t size,
                                                    std::size_t alignment) noexcept {
        if (lists_.capacity() == 0 && !closed_) {
            thread_local const Emptier emptier;
            lists_.set_capacity(ChunkLists<Upstream>::default_capacity);
            if (lists_.try_keep(data, size, alignment)) return;
        }
        lists_.give_upstream(data, size, alignment);
    }

    // Without constructor or destructor, so that an access is an access and no call to ask whether they live
    // yet.
    static inline constinit thread_local ChunkLists<Upstream> lists_{0};
    static inline constinit thread_local bool closed_ = false;
    static inline constinit std::atomic<bool> is_kept_loaded_{false};
};

/// The system's pages through a ChunkCache that each thread has for itself: what layers stand on by default.
using CachedPages = ThreadChunks<SystemPages>;

} // namespace reap::inline REAP_MODE
