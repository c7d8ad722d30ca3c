#pragma once

#include <cstddef>
#include <type_traits>

#include "reap/core/failure.h"
#include "reap/core/mutex.h"
#include "reap/core/source.h"
#include "reap/source/cached_pages.h"
#include "reap/source/superblocks.h"
#include "reap/source/system_pages.h"

namespace reap::inline REAP_MODE {

namespace detail {

/// Never destroyed: reaps may end after the static destructors.
template <Source Upstream = SystemPages>
union ImmortalSuperblocks {
    constexpr ImmortalSuperblocks() noexcept : all() {}
    ImmortalSuperblocks(const ImmortalSuperblocks &) = delete;
    ImmortalSuperblocks &operator=(const ImmortalSuperblocks &) = delete;
    ~ImmortalSuperblocks() {} // NOLINT(modernize-use-equals-default): it would be deleted
    Superblocks<Upstream> all;
};

} // namespace detail

/// The process's superblocks, out of the system's pages, for all threads: a lock, taken once a chunk.
///
/// Requests larger than half a superblock go to the system, without the lock. Has no state of its own: all
/// copies are equal.
class SharedSuperblocks {
  public:
    static constexpr std::size_t window = usual_window;

    template <Failure F>
    [[nodiscard]] static Allocation obtain_chunk(std::size_t least, std::size_t wanted) {
        const MutexLock lock(mutex_);
        return all_.obtain_chunk<F>(least, wanted);
    }
    [[nodiscard]] static void *try_allocate(std::size_t size, std::size_t alignment) noexcept {
        if (is_large(size, alignment)) return SystemPages::try_allocate(size, alignment);
        const MutexLock lock(mutex_);
        return all_.try_allocate(size, alignment);
    }
    static void deallocate(void *data, std::size_t size, std::size_t alignment) noexcept {
        if (is_large(size, alignment)) return SystemPages::deallocate(data, size, alignment);
        const MutexLock lock(mutex_);
        all_.deallocate(data, size, alignment);
    }
    /// Returns empty superblocks to the system.
    static void trim() noexcept {
        const MutexLock lock(mutex_);
        all_.trim();
    }
    /// Bytes in superblocks.
    [[nodiscard]] static std::size_t held() noexcept {
        const MutexLock lock(mutex_);
        return all_.held();
    }

    friend bool operator==(SharedSuperblocks, SharedSuperblocks) noexcept = default;

  private:
    using All = Superblocks<SystemPages>;

    static bool is_large(std::size_t size, std::size_t alignment) noexcept {
        return size > All::largest || !is_alignment(alignment) || alignment > All::smallest;
    }

    static inline constinit Mutex mutex_;
    static inline constinit detail::ImmortalSuperblocks<> immortal_;
    static inline All &all_ = immortal_.all;
};

/// Chunks of the process's superblocks through a per-thread cache: the default source of reaps. The
/// counterpart of CachedPages, which serves regions.
class CachedSuperblocks : public ThreadChunks<SharedSuperblocks> {
  public:
    static constexpr std::size_t window = SharedSuperblocks::window;

    template <Failure F>
    [[nodiscard]] static Allocation obtain_chunk(std::size_t least, std::size_t wanted) {
        // Rounds sizes as ChunkLists does, so that cached chunks are found again.
        const Allocation kept = try_allocate_cached(wanted, Superblocks<>::smallest / 2);
        return kept.data != nullptr ? kept : SharedSuperblocks::obtain_chunk<F>(least, wanted);
    }
    friend bool operator==(CachedSuperblocks, CachedSuperblocks) noexcept = default;
};

/// The window of superblocks if S allocates their chunks, otherwise 0: then a reap makes superblocks of its
/// own.
template <class S>
inline constexpr std::size_t window_of = 0;
template <Source Upstream, std::size_t Window>
inline constexpr std::size_t window_of<Superblocks<Upstream, Window>> = Window;
template <>
inline constexpr std::size_t window_of<SharedSuperblocks> = SharedSuperblocks::window;
template <>
inline constexpr std::size_t window_of<CachedSuperblocks> = CachedSuperblocks::window;
template <Source S>
inline constexpr std::size_t window_of<Ref<S>> = window_of<S>;

/// Where a reap's chunks come from: the source itself, if it has superblocks, otherwise superblocks of the
/// reap over it.
template <Source Upstream, std::size_t Window>
using ChunksOver = std::conditional_t<window_of<Upstream> != 0, Upstream, Superblocks<Upstream, Window>>;

} // namespace reap::inline REAP_MODE
