#pragma once

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <sys/mman.h>

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
    std::atomic<std::size_t> large_returned{0}; // bytes of large objects in there, or a little more or less
};

/// A reap whose objects any thread may free, in a process where each thread has one at most: so "is this
/// object mine?" is a comparison of two pointers. What OwnedReap is to those who have any number.
struct HeapPart : HeapOwner {
    using Chunks = detail::OwnedChunks<HeapOwner, ProcessChunks::window>;
    using Inner = Reap<Chunks, 16, ProcessChunks::window>;

    explicit HeapPart(const ReapOptions &options) noexcept : reap(Chunks(*this), options) {}
    HeapPart(const HeapPart &) = delete;
    HeapPart &operator=(const HeapPart &) = delete;
    ~HeapPart() = default;

    /// Takes back what other threads freed.
    void collect() noexcept {
        returned.take_all([this](void *object) { reap.deallocate(object); });
    }
    /// The same, and gives chunks that nothing is in back to the process. Costs time in the number of
    /// objects.
    void trim() noexcept {
        collect();
        reap.trim(keep_none);
        freed_at_trim = reap.freed();
    }
    /// The same if it is worth it: a quarter is free, and an eighth became so since the last time.
    void trim_if_worth() noexcept {
        collect();
        const std::size_t freed = reap.freed();
        if (freed < freed_at_trim) freed_at_trim = freed;
        if (freed >= reap.held() / 4 && freed >= freed_at_trim + reap.held() / 8) trim();
    }

    std::size_t freed_at_trim = 0;
    alignas(64) Inner reap; // others read what is before it
};

/// One thread's objects: small ones, in runs of one size each, and all others, apart from them, so that these
/// find room side by side.
///
/// All but free_elsewhere() and usable_size() is for the thread whose heap it is. Never destroyed: a heap
/// whose thread is gone waits for the next one.
class ThreadHeap {
  public:
    /// What malloc() aligns to.
    static constexpr std::size_t granule = 16;

    ThreadHeap() noexcept : small_(small_options), other_(ReapOptions{}) {}
    ThreadHeap(const ThreadHeap &) = delete;
    ThreadHeap &operator=(const ThreadHeap &) = delete;
    ~ThreadHeap() = delete;

    /// Null says nothing: allocate() may have one.
    [[nodiscard, gnu::always_inline]] void *allocate_at_hand(std::size_t size) noexcept {
        return small_.reap.try_allocate_from_bin(size);
    }
    [[nodiscard]] void *allocate(std::size_t size, std::size_t alignment) noexcept {
        const bool is_small = size <= largest_small && alignment <= largest_small - size;
        return (is_small ? small_ : other_).reap.try_allocate(size, alignment);
    }
    /// Frees an object of any heap, which is not aligned as a superblock is. `heap` is this thread's, or
    /// null.
    [[gnu::always_inline]] static void free(ThreadHeap *heap, void *object) noexcept {
        if constexpr (REAP_TSAN) annotate::ended(object, usable_size(object));
        const HeapOwner *const owner = &HeapPart::Chunks::owner_of_unaligned(object);
        // The first member: of no heap it is null, which is nobody's.
        if (reinterpret_cast<const HeapOwner *>(heap) == owner) [[likely]]
            heap->small_.reap.deallocate_small(object);
        else
            free_other(heap, object);
    }
    /// The same for one that may be aligned so, and is seldom small.
    [[gnu::noinline]] static void free_other(ThreadHeap *heap, void *object) noexcept {
        HeapOwner &owner = HeapPart::Chunks::owner_of(object);
        if (heap != nullptr && &owner == &heap->other_) return heap->other_.reap.deallocate(object);
        give_pages_back(owner, object);
        // Never closed, so this cannot fail.
        [[maybe_unused]] const bool pushed = owner.returned.push(object);
    }
    /// A large object's memory does not wait for its owner, who may allocate nothing for long: but for as
    /// much as the owner would keep.
    static void give_pages_back(HeapOwner &owner, void *object) noexcept {
        const std::size_t size = usable_size(object);
        if (size <= ReapOptions{}.large_object) return; // it may not have pages of its own
        const std::size_t before =
            owner.returned.is_empty() ? 0 : owner.large_returned.load(std::memory_order_relaxed);
        if (before + size <= LargeCache::capacity)
            return owner.large_returned.store(before + size, std::memory_order_relaxed);
        const auto begin = round_up(reinterpret_cast<std::uintptr_t>(object) + sizeof(void *), page_size());
        const auto end = (reinterpret_cast<std::uintptr_t>(object) + size) & ~(page_size() - 1);
        const int error = errno; // free() leaves it alone
        ::madvise(reinterpret_cast<void *>(begin), end - begin, MADV_DONTNEED);
        errno = error;
    }
    /// An object of any heap, made larger or smaller. Null: it is as it was.
    [[nodiscard]] void *reallocate(void *object, std::size_t size) noexcept {
        const HeapOwner *const owner = &HeapPart::Chunks::owner_of(object);
        const bool is_small = size <= largest_small;
        if (owner == &small_ && is_small) return small_.reap.try_reallocate(object, size, granule);
        if (owner == &other_ && !is_small) return other_.reap.try_reallocate(object, size, granule);
        void *const moved = allocate(size, granule);
        if (moved == nullptr) return nullptr;
        std::memcpy(moved, object, std::min(usable_size(object), size));
        if (owner == &small_)
            small_.reap.deallocate_small(object);
        else
            free_other(this, object);
        return moved;
    }
    [[nodiscard]] static std::size_t usable_size(const void *object) noexcept {
        return HeapPart::Inner::usable_size(object);
    }

    void trim() noexcept {
        small_.trim();
        other_.trim();
    }
    void trim_if_worth() noexcept {
        small_.trim_if_worth();
        other_.trim_if_worth();
    }
    [[nodiscard]] std::size_t held() const noexcept { return small_.reap.held() + other_.reap.held(); }
    [[nodiscard]] std::size_t freed() const noexcept { return small_.reap.freed() + other_.reap.freed(); }
    [[nodiscard]] bool check() const noexcept { return small_.reap.check() && other_.reap.check(); }

    // The registry's: under ProcessChunks::lock.
    enum class State {
        active, ///< some thread's
        idle,   ///< its thread ended; nobody looks at it without the lock
        lost, ///< its thread is not in this process, a child of a fork, and may have been in the midst of it
    };

  private:
    // Programs go through objects of one kind more often than through what was made at one time.
    static constexpr ReapOptions small_options{.largest_run = std::size_t{64} << 10};
    // As far as a reap has bins.
    static constexpr std::size_t largest_small = 2016;

    HeapPart small_;
    HeapPart other_;

  public:
    State state = State::active;
    ThreadHeap *next = nullptr;
};

} // namespace reap::inline REAP_MODE::interpose
