#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <sys/mman.h>

#include "reap/core/failure.h"
#include "reap/core/size.h"
#include "reap/core/source.h"
#include "reap/interpose/large_cache.h"
#include "reap/interpose/marked_pages.h"
#include "reap/interpose/process_lock.h"
#include "reap/source/cached_superblocks.h"
#include "reap/source/superblocks.h"
#include "reap/source/system_pages.h"

namespace reap::inline REAP_MODE::interpose {

/// MarkedPages for superblocks, which it counts: a process that has some is served better by huge pages; one
/// that has few would have more memory than it needs. Not thread-safe.
class SuperblockPages {
  public:
    [[nodiscard]] static void *try_allocate(std::size_t size, std::size_t alignment) noexcept {
        void *const data = MarkedPages::try_allocate(size, alignment);
        // Refused where the system has none, which is nothing to tell of.
        if (data != nullptr && superblocks++ >= ordinary) ::madvise(data, size, MADV_HUGEPAGE);
        return data;
    }
    static void deallocate(void *data, std::size_t size, std::size_t alignment) noexcept {
        --superblocks;
        MarkedPages::deallocate(data, size, alignment);
    }

  private:
    /// So many have pages of the usual size.
    static constexpr std::size_t ordinary = 4;

    static inline constinit std::size_t superblocks = 0;
};

/// Where all heaps of the process have their memory from: chunks of common superblocks, and large blocks,
/// which the system gives and takes, but for a few that are kept. Thread-safe; has no state of its own.
///
/// A superblock that nothing is in goes back to the system, but for one.
class ProcessChunks {
  public:
    static constexpr std::size_t window = usual_window;

    template <Failure F>
    [[nodiscard]] static Allocation obtain_chunk(std::size_t least, std::size_t wanted) {
        const std::scoped_lock hold(lock);
        if (!superblocks_.all.has_chunk(least) && before_superblock != nullptr) before_superblock();
        const Allocation got = superblocks_.all.obtain_chunk<Failure::returns_null>(least, wanted);
        if constexpr (F == Failure::throws)
            if (got.data == nullptr) throw_bad_alloc();
        return got;
    }
    [[nodiscard]] static void *try_allocate(std::size_t size, std::size_t alignment) noexcept {
        if (!is_large(size, alignment)) return obtain_chunk<Failure::returns_null>(size, size).data;
        const std::size_t whole = LargeCache::block_for(size);
        if (alignment == window) {
            if (const Allocation kept = take_kept(whole); kept.data != nullptr) {
                is_fresh = false;
                MarkedPages::mark(kept.data, window);
                if (kept.size > whole) {
                    MarkedPages::cut(kept, whole);
                    large_held_.fetch_sub(kept.size - whole, std::memory_order_relaxed);
                }
                return kept.data;
            }
        }
        void *const data = MarkedPages::try_allocate(whole, alignment);
        if (data != nullptr) large_held_.fetch_add(whole, std::memory_order_relaxed);
        is_fresh = true;
        return data;
    }
    static void deallocate(void *data, std::size_t size, std::size_t alignment) noexcept {
        if (!is_large(size, alignment)) {
            const std::scoped_lock hold(lock);
            return superblocks_.all.deallocate(data, size, alignment);
        }
        const std::size_t whole = LargeCache::block_for(size);
        if (alignment != window) return give_back({data, whole}, alignment);
        MarkedPages::forget(data, window); // so that it is not freed again while it is kept
        const std::scoped_lock hold(lock);
        large_.put({data, whole});
        for (Allocation block = large_.excess(); block.data != nullptr; block = large_.excess())
            give_back(block, window);
    }
    [[nodiscard]] static void *try_resize(void *data, std::size_t size, std::size_t new_size,
                                          std::size_t alignment) noexcept {
        if (!is_large(size, alignment) || !is_large(new_size, alignment)) return nullptr;
        const std::size_t old = LargeCache::block_for(size);
        const std::size_t wanted = LargeCache::block_for(new_size);
        void *const moved = wanted == old ? data : MarkedPages::try_resize(data, old, wanted, alignment);
        if (moved != nullptr) large_held_.fetch_add(wanted - old, std::memory_order_relaxed);
        return moved;
    }

    /// Gives back all that nothing is in.
    static void trim() noexcept {
        const std::scoped_lock hold(lock);
        superblocks_.all.trim();
        for (Allocation block = large_.any(); block.data != nullptr; block = large_.any())
            give_back(block, window);
    }

    /// Bytes in superblocks; those in large blocks, kept ones included; and the kept ones.
    struct Held {
        std::size_t superblocks;
        std::size_t large;
        std::size_t kept;
    };
    [[nodiscard]] static Held held() noexcept {
        const std::scoped_lock hold(lock);
        return {superblocks_.all.held(), large_held_.load(std::memory_order_relaxed), large_.held()};
    }

    friend bool operator==(ProcessChunks, ProcessChunks) noexcept = default;

    /// Whether the last large block that this thread got is all zero.
    static inline constinit thread_local bool is_fresh = false;
    /// Held whenever something here changes, and across fork().
    static inline constinit ProcessLock lock{};
    /// Called before the system is asked for a superblock: there may be memory that is held for nothing.
    using Hook = void (*)() noexcept;
    static inline constinit Hook before_superblock = nullptr;

  private:
    using All = Superblocks<SuperblockPages>;

    static bool is_large(std::size_t size, std::size_t alignment) noexcept {
        return size > All::largest || alignment > All::smallest;
    }
    static Allocation take_kept(std::size_t size) noexcept {
        const std::scoped_lock hold(lock);
        return large_.take(size);
    }
    static void give_back(Allocation block, std::size_t alignment) noexcept {
        large_held_.fetch_sub(block.size, std::memory_order_relaxed);
        MarkedPages::deallocate(block.data, block.size, alignment);
    }

    static inline constinit detail::ImmortalSuperblocks<SuperblockPages> superblocks_;
    static inline constinit LargeCache large_{};
    static inline constinit std::atomic<std::size_t> large_held_{0};
};

} // namespace reap::inline REAP_MODE::interpose

namespace reap::inline REAP_MODE {
template <>
inline constexpr std::size_t window_of<interpose::ProcessChunks> = interpose::ProcessChunks::window;
} // namespace reap::inline REAP_MODE
