#pragma once

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <sys/mman.h>

#include "reap/core/failure.h"
#include "reap/core/size.h"
#include "reap/core/source.h"
#include "reap/interpose/free_windows.h"
#include "reap/interpose/large_cache.h"
#include "reap/interpose/marked_pages.h"
#include "reap/interpose/process_lock.h"
#include "reap/source/cached_superblocks.h"
#include "reap/source/superblocks.h"
#include "reap/source/system_pages.h"
#include "reap/source/window_map.h"

namespace reap::inline REAP_MODE::interpose {

/// MarkedPages for superblocks, which it counts: huge pages benefit a process that has several superblocks;
/// with only a few they would take more memory than needed. Not thread-safe.
class SuperblockPages {
  public:
    [[nodiscard]] static void *try_allocate(std::size_t size, std::size_t alignment) noexcept {
        void *const data = MarkedPages::try_allocate(size, alignment);
        // Fails where the system has no huge pages, which needs no report.
        if (data != nullptr && superblocks++ >= ordinary) ::madvise(data, size, MADV_HUGEPAGE);
        return data;
    }
    static void deallocate(void *data, std::size_t size, std::size_t alignment) noexcept {
        --superblocks;
        MarkedPages::deallocate(data, size, alignment);
    }

  private:
    /// The first superblocks use pages of the usual size: with huge pages the unused part of a superblock is
    /// resident, too, which is beyond this number at most a sixteenth.
    static constexpr std::size_t ordinary = 16;

    static inline constinit std::size_t superblocks = 0;
};

/// The source of all heaps of the process: chunks of shared superblocks, and large blocks, mapped and
/// unmapped on demand except for a few that are cached. Thread-safe; has no state of its own.
///
/// An empty superblock is returned to the system, except for one. A large block has a mapping of its own. If
/// there are thousands, it takes whole windows instead, which the kernel merges into one mapping: see
/// FreeWindows.
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
    /// A whole window that has no chunk of others. Null if the system has none.
    [[nodiscard]] static void *obtain_window() noexcept {
        const std::scoped_lock hold(lock);
        if (before_superblock != nullptr) before_superblock();
        void *const data = SuperblockPages::try_allocate(window, window);
        windows_out_ += data != nullptr;
        return data;
    }
    static void return_window(void *data) noexcept {
        const std::scoped_lock hold(lock);
        SuperblockPages::deallocate(data, window, window);
        --windows_out_;
    }
    [[nodiscard]] static void *try_allocate(std::size_t size, std::size_t alignment) noexcept {
        if (!is_large(size, alignment)) return obtain_chunk<Failure::returns_null>(size, size).data;
        const std::size_t whole = LargeCache::block_for(size);
        if (alignment == window) {
            if (const Allocation kept = take_kept(whole); kept.data != nullptr) {
                is_fresh = false;
                MarkedPages::mark(kept.data, window);
                if (kept.size > whole) {
                    cut(kept, whole);
                    large_held_.fetch_sub(kept.size - whole, std::memory_order_relaxed);
                }
                return kept.data;
            }
        }
        void *const data = alignment == window && large_count_.load(std::memory_order_relaxed) >= few
                               ? take_windows(whole)
                               : MarkedPages::try_allocate(whole, alignment);
        if (data != nullptr) {
            large_held_.fetch_add(whole, std::memory_order_relaxed);
            large_count_.fetch_add(1, std::memory_order_relaxed);
        }
        is_fresh = true;
        return data;
    }
    static void deallocate(void *data, std::size_t size, std::size_t alignment) noexcept {
        if (!is_large(size, alignment)) {
            const std::scoped_lock hold(lock);
            superblocks_.all.deallocate(data, size, alignment);
            freed_since_purge_ += size;
            if (freed_since_purge_ >= most_unused.load(std::memory_order_relaxed)) purge(worth_purging);
            return;
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
        void *moved = data;
        if (wanted != old) {
            moved = in_windows_.has(data) ? resize_windows(data, old, wanted)
                                          : MarkedPages::try_resize(data, old, wanted, alignment);
        }
        if (moved != nullptr) large_held_.fetch_add(wanted - old, std::memory_order_relaxed);
        return moved;
    }

    /// Returns all empty memory to the system.
    static void trim() noexcept {
        const std::scoped_lock hold(lock);
        superblocks_.all.trim();
        purge(All::smallest);
        for (Allocation block = large_.any(); block.data != nullptr; block = large_.any())
            give_back(block, window);
        free_windows_.release();
    }

    /// Returns whole pages among these bytes to the system; they read as zero when next touched.
    static void drop(void *data, std::size_t size) noexcept {
        const std::size_t page = page_size();
        const auto begin = round_up(reinterpret_cast<std::uintptr_t>(data), page);
        const auto end = (reinterpret_cast<std::uintptr_t>(data) + size) & ~(page - 1);
        if (begin >= end) return;
        const int before = errno; // free() preserves it
        ::madvise(reinterpret_cast<void *>(begin), end - begin, MADV_DONTNEED);
        errno = before;
    }
    /// This much free memory may stay resident: of a heap's medium-sized objects, and of chunks that heaps
    /// returned.
    static inline constinit std::atomic<std::size_t> most_unused{std::size_t{16} << 20};
    /// Pages are returned where this much contiguous memory is free.
    static constexpr std::size_t worth_purging = std::size_t{64} << 10;

    /// Bytes in superblocks and windows; those in large blocks, cached ones included; the cached ones; and
    /// how many large blocks are in use.
    struct Held {
        std::size_t superblocks;
        std::size_t large;
        std::size_t kept;
        std::size_t large_objects;
    };
    [[nodiscard]] static Held held() noexcept {
        const std::scoped_lock hold(lock);
        return {superblocks_.all.held() + windows_out_ * window, large_held_.load(std::memory_order_relaxed),
                large_.held(), large_count_.load(std::memory_order_relaxed) - large_.count()};
    }

    friend bool operator==(ProcessChunks, ProcessChunks) noexcept = default;

    /// Whether the last large block that this thread got is all zero.
    static inline constinit thread_local bool is_fresh = false;
    /// Held whenever something here changes, and across fork().
    static inline constinit ProcessLock lock{};
    /// Called before a superblock is requested from the system: memory may be held unused.
    using Hook = void (*)() noexcept;
    static inline constinit Hook before_superblock = nullptr;

  private:
    using All = Superblocks<SuperblockPages>;

    /// Of free chunks. The lock must be held.
    static void purge(std::size_t least) noexcept {
        freed_since_purge_ = 0;
        superblocks_.all.purge(least, drop);
    }

    static bool is_large(std::size_t size, std::size_t alignment) noexcept {
        return size > All::largest || alignment > All::smallest;
    }
    static Allocation take_kept(std::size_t size) noexcept {
        const std::scoped_lock hold(lock);
        return large_.take(size);
    }
    /// The lock must be held if the alignment is a window's.
    static void give_back(Allocation block, std::size_t alignment) noexcept {
        large_held_.fetch_sub(block.size, std::memory_order_relaxed);
        large_count_.fetch_sub(1, std::memory_order_relaxed);
        if (!in_windows_.has(block.data)) return MarkedPages::deallocate(block.data, block.size, alignment);
        MarkedPages::forget(block.data, window);
        in_windows_.remove(block.data);
        give_windows_back(block.data, round_up(block.size, window));
    }

    // Blocks of whole windows.

    static void *take_windows(std::size_t size) noexcept {
        const std::size_t whole = round_up(size, window);
        void *data = nullptr;
        if (whole == window) {
            const std::scoped_lock hold(lock);
            data = free_windows_.take();
            if (data != nullptr) MarkedPages::mark(data, window);
        }
        if (data == nullptr) {
            data = MarkedPages::try_allocate(whole, window);
            // Otherwise the first byte would make the memory of the whole window resident.
            if (data != nullptr) ::madvise(data, whole, MADV_NOHUGEPAGE);
        }
        if (data != nullptr) in_windows_.add(data);
        return data;
    }
    /// The lock must be held.
    static void give_windows_back(void *data, std::size_t size) noexcept {
        const int before = errno; // free() preserves it
        free_windows_.put(data, size);
        // Not more than are in use, and sorted rarely.
        if (free_windows_.count() > std::max(few, 2 * large_count_.load(std::memory_order_relaxed)))
            free_windows_.release();
        errno = before;
    }
    /// Returns everything behind the first bytes to the system, in whole pages. The lock must not be held.
    static void cut(Allocation block, std::size_t size) noexcept {
        if (!in_windows_.has(block.data)) return MarkedPages::cut(block, size);
        auto *const data = static_cast<std::byte *>(block.data);
        const std::size_t stays = round_up(size, window);
        const int before = errno;
        ::madvise(data + size, std::min(stays, block.size) - size, MADV_DONTNEED);
        errno = before;
        if (round_up(block.size, window) == stays) return;
        const std::scoped_lock hold(lock);
        give_windows_back(data + stays, round_up(block.size, window) - stays);
    }
    static void *resize_windows(void *data, std::size_t old, std::size_t size) noexcept {
        if (size < old) {
            cut({data, old}, size);
            return data;
        }
        const std::size_t whole = round_up(old, window);
        if (size <= whole) return data;
        // As in MarkedPages: another block may be at the old address as soon as this one has moved.
        in_windows_.remove(data);
        void *const moved = MarkedPages::try_resize(data, whole, round_up(size, window), window);
        in_windows_.add(moved != nullptr ? moved : data);
        return moved;
    }

    static inline constinit detail::ImmortalSuperblocks<SuperblockPages> superblocks_;
    static inline constinit std::size_t windows_out_ = 0;
    static inline constinit std::size_t freed_since_purge_ = 0; // in chunks
    static inline constinit LargeCache large_{};
    static inline constinit std::atomic<std::size_t> large_held_{0};
    static inline constinit std::atomic<std::size_t> large_count_{0};

    /// Large blocks have mappings of their own while they are at most this many; a sixteenth of a process's
    /// limit.
    static constexpr std::size_t few = 4096;
    static inline constinit WindowMap<window> in_windows_{};
    static inline constinit FreeWindows free_windows_{};
};

} // namespace reap::inline REAP_MODE::interpose

namespace reap::inline REAP_MODE {
template <>
inline constexpr std::size_t window_of<interpose::ProcessChunks> = interpose::ProcessChunks::window;
} // namespace reap::inline REAP_MODE
