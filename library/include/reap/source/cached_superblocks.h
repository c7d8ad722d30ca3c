#pragma once

#include <cstddef>
#include <mutex>

#include "reap/core/failure.h"
#include "reap/core/source.h"
#include "reap/source/cached_pages.h"
#include "reap/source/superblocks.h"
#include "reap/source/system_pages.h"

namespace reap::inline REAP_MODE {

namespace detail {

/// Not ended with the program: reaps may be ended after it.
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
/// What is larger than half a superblock is asked from the system, without the lock. Has no state of its own:
/// any copy is any other.
class SharedSuperblocks {
  public:
    static constexpr std::size_t window = usual_window;

    template <Failure F>
    [[nodiscard]] static Allocation obtain_chunk(std::size_t least, std::size_t wanted) {
        const std::scoped_lock lock(mutex_);
        return all_.obtain_chunk<F>(least, wanted);
    }
    [[nodiscard]] static void *try_allocate(std::size_t size, std::size_t alignment) noexcept {
        if (is_large(size, alignment)) return SystemPages::try_allocate(size, alignment);
        const std::scoped_lock lock(mutex_);
        return all_.try_allocate(size, alignment);
    }
    static void deallocate(void *data, std::size_t size, std::size_t alignment) noexcept {
        if (is_large(size, alignment)) return SystemPages::deallocate(data, size, alignment);
        const std::scoped_lock lock(mutex_);
        all_.deallocate(data, size, alignment);
    }
    /// Gives superblocks that no chunk is out of back to the system.
    static void trim() noexcept {
        const std::scoped_lock lock(mutex_);
        all_.trim();
    }
    /// Bytes in superblocks.
    [[nodiscard]] static std::size_t held() noexcept {
        const std::scoped_lock lock(mutex_);
        return all_.held();
    }

    friend bool operator==(SharedSuperblocks, SharedSuperblocks) noexcept = default;

  private:
    using All = Superblocks<SystemPages>;

    static bool is_large(std::size_t size, std::size_t alignment) noexcept {
        return size > All::largest || !is_alignment(alignment) || alignment > All::smallest;
    }

    static inline constinit std::mutex mutex_;
    static inline constinit detail::ImmortalSuperblocks<> immortal_;
    static inline All &all_ = immortal_.all;
};

/// Chunks of the process's superblocks through a cache that each thread has for itself: what reaps stand on
/// by default. To them what CachedPages is to regions.
class CachedSuperblocks : public ThreadChunks<SharedSuperblocks> {
  public:
    static constexpr std::size_t window = SharedSuperblocks::window;

    template <Failure F>
    [[nodiscard]] static Allocation obtain_chunk(std::size_t least, std::size_t wanted) {
        // As ChunkLists rounds sizes, so that what it keeps is found again.
        const Allocation kept = try_allocate_cached(wanted, Superblocks<>::smallest / 2);
        return kept.data != nullptr ? kept : SharedSuperblocks::obtain_chunk<F>(least, wanted);
    }
    friend bool operator==(CachedSuperblocks, CachedSuperblocks) noexcept = default;
};

/// The window of superblocks if S hands out their chunks, else 0: then a reap makes superblocks of its own.
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

} // namespace reap::inline REAP_MODE
