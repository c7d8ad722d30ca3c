#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <pthread.h>

#include "reap/interpose/marked_pages.h"
#include "reap/interpose/misused.h"
#include "reap/interpose/process_lock.h"
#include "reap/interpose/statistics.h"
#include "reap/layer/best_fit.h"
#include "reap/layer/locked.h"
#include "reap/layer/quicklists.h"

namespace reap::inline REAP_MODE::interpose {

/// Pages whose addresses are known to be ours: windows of their own.
class WindowPages {
  public:
    [[nodiscard]] static void *try_allocate(std::size_t size, std::size_t alignment) noexcept {
        return MarkedPages::try_allocate(size, std::max(alignment, usual_window));
    }
    static void deallocate(void *data, std::size_t size, std::size_t alignment) noexcept {
        MarkedPages::deallocate(data, size, std::max(alignment, usual_window));
    }
    [[nodiscard]] static void *try_resize(void *data, std::size_t size, std::size_t new_size,
                                          std::size_t alignment) noexcept {
        return MarkedPages::try_resize(data, size, new_size, std::max(alignment, usual_window));
    }
    friend bool operator==(WindowPages, WindowPages) noexcept = default;
};

/// The process's single lock, so that fork() can hold it.
class HeapLock {
  public:
    static void lock() noexcept { one.lock(); }
    static void unlock() noexcept { one.unlock(); }

    static inline constinit ProcessLock one{};
};

/// The layers of a Win32Like. They live as long as the process: objects are freed after the destructors of
/// all statics.
union Win32LikeLayers {
    using Best = BestFit<WindowPages>;
    using Quick = Quicklists<Best, 127>;

    constexpr Win32LikeLayers() noexcept : all() {}
    Win32LikeLayers(const Win32LikeLayers &) = delete;
    Win32LikeLayers &operator=(const Win32LikeLayers &) = delete;
    ~Win32LikeLayers() {} // NOLINT(modernize-use-equals-default): it would be deleted

    Locked<Quick, HeapLock> all;
};

/// A general-purpose allocator that models the Windows heap of 2002, as that year's paper describes it
/// (Berger, Zorn and McKinley, OOPSLA 2002, section 2): 127 quicklists, one for each of the smallest sizes,
/// in front of a best-fit heap, all behind one lock. libreap-win32-like's functions are built on it. The same
/// calls as Heap's.
///
/// Nothing here calls malloc, throws, or needs initialization; watch_forks() must be called once.
class Win32Like {
    using Best = Win32LikeLayers::Best;
    using Quick = Win32LikeLayers::Quick;

  public:
    /// The library's name, for messages.
    static constexpr const char *library = "libreap-win32-like";
    static constexpr std::size_t granule = Best::granule;
    static constexpr HeapSettings settings{
        .alignment = granule, .large_object = BestFitOptions{}.large_object, .keep = 0};

    /// Returns null if memory is exhausted.
    [[nodiscard]] static void *allocate(std::size_t size) noexcept { return allocate(size, granule); }
    /// The same if it takes no function call, which is never: the lock must be taken.
    [[nodiscard]] static void *allocate_at_hand(std::size_t /*size*/) noexcept { return nullptr; }
    /// At an alignment, which must be a power of two.
    [[nodiscard]] static void *allocate(std::size_t size, std::size_t alignment) noexcept {
        return layers_.all.try_allocate(size, alignment);
    }
    /// Zeroed. Memory fresh from the system is not touched for that.
    [[nodiscard]] static void *allocate_zeroed(std::size_t size) noexcept {
        bool is_fresh = false;
        void *const object = layers_.all.with([&](Quick &quick) {
            void *const made = quick.try_allocate(size, granule);
            // A smaller one may come from a list, with any contents.
            is_fresh = size > Quick::largest && made != nullptr && Best::is_alone(made);
            return made;
        });
        if (object != nullptr && !is_fresh) std::memset(object, 0, size);
        return object;
    }

    /// Null is ignored. An address that cannot be an object of this heap ends the program, with a line that
    /// names the function. For other invalid addresses, and for freed objects, nothing is guaranteed.
    static void free(void *object, const char *function = "free") noexcept {
        if (object == nullptr) return;
        if (!may_own(object)) [[unlikely]]
            misused(library, function, object);
        layers_.all.deallocate(object);
    }
    /// Returns null, with the object unchanged, if memory is exhausted. `object` must not be null.
    [[nodiscard]] static void *reallocate(void *object, std::size_t size) noexcept {
        void *const same =
            layers_.all.with([&](Quick &quick) { return quick.try_resize(object, 0, size, granule); });
        if (same != nullptr) return same;
        void *const moved = allocate(size);
        if (moved == nullptr) return nullptr;
        std::memcpy(moved, object, std::min(usable_size(object), size));
        layers_.all.deallocate(object);
        return moved;
    }
    /// Whether the address may be an object's.
    [[nodiscard]] static bool may_own(const void *object) noexcept {
        return reinterpret_cast<std::uintptr_t>(object) % granule == 0 && MarkedPages::has(object);
    }
    [[nodiscard]] static std::size_t usable_size(const void *object) noexcept {
        // Its tag also describes its neighbour, which other threads may free.
        return layers_.all.with([object](const Quick &) { return Best::usable_size(object); });
    }

    /// Returns empty memory to the system. Returns whether there was any.
    static bool trim() noexcept {
        return layers_.all.with([](Quick &quick) {
            const std::size_t before = quick.heap().statistics().chunks;
            quick.flush();
            quick.heap().trim();
            return quick.heap().statistics().chunks < before;
        });
    }

    [[nodiscard]] static HeapStatistics statistics() noexcept {
        return layers_.all.with([](Quick &quick) {
            const BestFitStatistics held = quick.heap().statistics();
            return HeapStatistics{.chunks = held.chunks,
                                  .large = held.large,
                                  .heaps = 1,
                                  .mine = held.chunks,
                                  .mine_freed = held.free + quick.kept()};
        });
    }
    /// Whether the heap is consistent: for tests.
    [[nodiscard]] static bool check() noexcept {
        return layers_.all.with([](Quick &quick) { return quick.heap().check(); });
    }

    /// Keeps the heap consistent across fork(). Returns false if the handlers cannot be registered.
    static bool watch_forks() noexcept {
        return ::pthread_atfork(HeapLock::lock, HeapLock::unlock, begin_child) == 0;
    }

  private:
    static void begin_child() noexcept { HeapLock::one.begin_child(); }

    static inline constinit Win32LikeLayers layers_{};
};

} // namespace reap::inline REAP_MODE::interpose
