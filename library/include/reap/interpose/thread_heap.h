#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "reap/core/annotate.h"
#include "reap/core/keep.h"
#include "reap/interpose/process_chunks.h"
#include "reap/layer/owned_reap.h"
#include "reap/layer/reap.h"
#include "reap/layer/return_stack.h"

namespace reap::inline REAP_MODE::interpose {

/// What an object's address leads to.
struct HeapOwner {
    [[no_unique_address]] ProcessChunks chunks;
    alignas(64) detail::ReturnStack<> returned; // others write it: a cache line of its own
};

/// One thread's reap, in a process where each thread has at most one: so "is this object mine?" is a
/// comparison of two pointers. What OwnedReap is to those who have any number.
///
/// All but free_elsewhere() and what is static is for the thread whose heap it is. Never destroyed: a heap
/// whose thread is gone waits for the next one.
class ThreadHeap : private HeapOwner {
    using Chunks = detail::OwnedChunks<HeapOwner, ProcessChunks::window>;
    using Inner = Reap<Chunks, 16, ProcessChunks::window>;

  public:
    /// What malloc() aligns to.
    static constexpr std::size_t granule = 16;

    ThreadHeap() noexcept : reap_(Chunks(*this), options) {}
    ThreadHeap(const ThreadHeap &) = delete;
    ThreadHeap &operator=(const ThreadHeap &) = delete;
    ~ThreadHeap() = delete;

    /// Whether an object is this heap's. The object is somebody's; `heap` may be null.
    [[nodiscard, gnu::always_inline]] static bool is_of(const ThreadHeap *heap, const void *object) noexcept {
        return &Chunks::owner_of(object) == heap;
    }

    /// Null says nothing: allocate() may have one.
    [[nodiscard, gnu::always_inline]] void *allocate_at_hand(std::size_t size) noexcept {
        return reap_.try_allocate_at_hand(size);
    }
    [[nodiscard]] void *allocate(std::size_t size, std::size_t alignment) noexcept {
        return reap_.try_allocate(size, alignment);
    }
    /// An object of this heap.
    [[gnu::always_inline]] void free(void *object) noexcept {
        if constexpr (REAP_TSAN) annotate::ended(object, usable_size(object));
        reap_.deallocate(object);
    }
    /// An object of any heap, in a thread that has another, or none.
    static void free_elsewhere(void *object) noexcept {
        if constexpr (REAP_TSAN) annotate::ended(object, usable_size(object));
        // Never closed, so this cannot fail.
        [[maybe_unused]] const bool pushed = Chunks::owner_of(object).returned.push(object);
    }
    /// An object of this heap, made larger or smaller. Null: it is as it was.
    [[nodiscard]] void *reallocate(void *object, std::size_t size) noexcept {
        return reap_.try_reallocate(object, size, granule);
    }
    [[nodiscard]] static std::size_t usable_size(const void *object) noexcept {
        return Inner::usable_size(object);
    }

    /// Takes back what other threads freed.
    void collect() noexcept {
        returned.take_all([this](void *object) { reap_.deallocate(object); });
    }
    /// The same, and gives chunks that nothing is in back to the process. Costs time in the number of objects.
    void trim() noexcept {
        collect();
        reap_.trim(keep_none);
        freed_at_trim_ = reap_.freed();
    }
    /// The same if it is worth it: a quarter of the heap is free, and an eighth became so since the last time.
    void trim_if_worth() noexcept {
        collect();
        if (reap_.freed() < reap_.held() / 4) return;
        if (reap_.freed() < freed_at_trim_ + reap_.held() / 8 && reap_.freed() >= freed_at_trim_) return;
        trim();
    }
    [[nodiscard]] std::size_t held() const noexcept { return reap_.held(); }
    [[nodiscard]] std::size_t freed() const noexcept { return reap_.freed(); }
    [[nodiscard]] bool check() const noexcept { return reap_.check(); }

    // The registry's: under ProcessChunks::lock.
    enum class State {
        active, ///< some thread's
        idle,   ///< its thread ended; nobody looks at it without the lock
        lost,   ///< its thread is not in this process, a child of a fork, and may have been in the midst of it
    };
    State state = State::active;
    ThreadHeap *next = nullptr;

  private:
    // Programs go through objects of one kind more often than through what was made at one time.
    static constexpr ReapOptions options{.largest_run = std::size_t{64} << 10};

    std::size_t freed_at_trim_ = 0;
    alignas(64) Inner reap_; // others read what is before it
};

} // namespace reap::inline REAP_MODE::interpose
