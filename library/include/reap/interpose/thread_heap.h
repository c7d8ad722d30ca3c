#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "reap/core/annotate.h"
#include "reap/core/keep.h"
#include "reap/core/misuse.h"
#include "reap/interpose/heap_owner.h"
#include "reap/interpose/owned_windows.h"
#include "reap/interpose/process_chunks.h"
#include "reap/interpose/scoped_part.h"
#include "reap/layer/best_fit.h"
#include "reap/layer/owned_reap.h"
#include "reap/layer/reap.h"

namespace reap::inline REAP_MODE::interpose {

/// A reap whose objects any thread may free, in a process where each thread has at most one: "is this object
/// mine?" is thus a comparison of two pointers. OwnedReap is the counterpart for any number of reaps per
/// thread.
struct SmallPart : HeapOwner {
    using Chunks = detail::OwnedChunks<HeapOwner, ProcessChunks::window>;
    static constexpr std::size_t granule = 16;
    using Inner = Reap<Chunks, granule, ProcessChunks::window>;

    explicit SmallPart(const ReapOptions &options) noexcept
        : HeapOwner(Part::small), reap(Chunks(*this), options) {}
    SmallPart(const SmallPart &) = delete;
    SmallPart &operator=(const SmallPart &) = delete;
    ~SmallPart() = default;

    /// While a sixteenth of the held memory is free, free objects of the next size classes are used before
    /// untouched memory: with varying sizes, each class would otherwise keep free objects of its own.
    [[nodiscard]] void *try_allocate(std::size_t size, std::size_t alignment) noexcept {
        while (collect_some()) {
            if (alignment > granule) continue;
            if (void *const object = reap.try_allocate_from_bin(size); object != nullptr) return object;
        }
        if (alignment <= granule && reap.freed() >= reap.held() / 16) {
            if (void *const object = reap.try_allocate_from_bin(size); object != nullptr) return object;
            if (void *const object = reap.try_allocate_from_larger_bin(size); object != nullptr)
                return object;
        }
        return reap.try_allocate(size, alignment);
    }
    /// Takes back what other threads freed.
    void collect() noexcept {
        while (collect_some()) {
        }
    }
    /// The same, and returns empty chunks to the process. Linear in the number of objects.
    void trim() noexcept {
        collect();
        reap.trim(keep_none);
        freed_at_trim = reap.freed();
    }
    /// Returns pages between objects to the system, as far as trim() has coalesced what is free there.
    void purge() noexcept { reap.purge(page_size(), ProcessChunks::drop); }
    /// The same if it is worthwhile: a quarter is free, and an eighth became free since the last time.
    void trim_if_worth() noexcept {
        collect();
        const std::size_t freed = reap.freed();
        if (freed < freed_at_trim) freed_at_trim = freed;
        if (freed >= reap.held() / 4 && freed >= freed_at_trim + reap.held() / 8) trim();
    }

    std::size_t freed_at_trim = 0;
    alignas(64) Inner reap; // others read what is before it

  private:
    /// Takes back some objects that other threads freed, close to each other, so that they are in the cache
    /// when they are allocated again. Returns false if there was none.
    bool collect_some() noexcept {
        if constexpr (!in_groups) {
            if (returned.is_empty()) return false;
            returned.take_all([this](void *object) { reap.deallocate(object); });
            return true;
        } else {
            std::size_t count = 0;
            while (count < some) {
                if (groups_ == nullptr) groups_ = returned.take_chain();
                void *const group = returned.pop(groups_);
                if (group == nullptr) break;
                count += Group::take(group, [this](void *object) { reap.deallocate_small(object); });
            }
            return count != 0;
        }
    }
    static constexpr std::size_t some = 32; // makes up for a call of collect_some()

    void *groups_ = nullptr; // taken off `returned`
};

/// The same for objects that are not small: blocks of many sizes, which are coalesced as soon as they are
/// free.
struct OtherPart : HeapOwner {
    using Inner = GoodFit<OwnedWindows<HeapOwner>>;

    OtherPart() noexcept
        : HeapOwner(Part::other), heap(OwnedWindows<HeapOwner>(*this),
                                       {.chunk = OwnedWindows<HeapOwner>::chunk, .large_object = largest}) {}
    OtherPart(const OtherPart &) = delete;
    OtherPart &operator=(const OtherPart &) = delete;
    ~OtherPart() = default;

    /// Larger objects have pages of their own.
    static constexpr std::size_t largest = std::size_t{256} << 10;

    [[nodiscard]] void *try_allocate(std::size_t size, std::size_t alignment) noexcept {
        collect();
        return heap.try_allocate(size, alignment);
    }
    void deallocate(void *object) noexcept {
        if (!Inner::is_live(object)) [[unlikely]]
            return report_misuse({Misuse::double_free, object, 0, "libreap-malloc"});
        freed_since_purge += Inner::usable_size(object);
        heap.deallocate(object);
        if (freed_since_purge >= ProcessChunks::most_unused.load(std::memory_order_relaxed)) purge_if_worth();
    }

    void collect() noexcept {
        if (!returned.is_empty()) returned.take_all([this](void *object) { deallocate(object); });
    }
    void trim() noexcept {
        collect();
        heap.trim();
        purge(page_size());
    }
    void trim_if_worth() noexcept {
        collect();
        const BestFitStatistics held = heap.statistics();
        if (held.free - held.purged >= held.chunks / 4) trim();
    }
    /// Returns empty pages to the system where about `least` contiguous bytes are free.
    void purge(std::size_t least) noexcept { heap.purge(least, ProcessChunks::drop); }
    [[nodiscard]] std::size_t held() const noexcept {
        return heap.statistics().chunks + heap.statistics().large;
    }
    [[nodiscard]] std::size_t freed() const noexcept { return heap.statistics().free; }

    Inner heap;

  private:
    /// Free memory of a heap may reach most_unused, or a quarter of the heap; it is checked each time this
    /// much was freed.
    [[gnu::noinline]] void purge_if_worth() noexcept {
        freed_since_purge = 0;
        const BestFitStatistics held = heap.statistics();
        const std::size_t most =
            std::max(ProcessChunks::most_unused.load(std::memory_order_relaxed), held.chunks / 4);
        if (held.free - held.purged >= most) purge(ProcessChunks::worth_purging);
    }

    std::size_t freed_since_purge = 0;
};
/// The objects of one thread: small ones, in runs of one size each, and all others, apart from them, so that
/// these find contiguous room.
///
/// Everything except free_elsewhere() and usable_size() is for the thread that owns the heap. Never
/// destroyed: a heap whose thread has ended waits for the next one.
class ThreadHeap {
  public:
    /// The alignment of malloc().
    static constexpr std::size_t granule = 16;
    /// Larger objects have pages of their own.
    static constexpr std::size_t large_object = OtherPart::largest;

    ThreadHeap() noexcept : small_(small_options) {}
    ThreadHeap(const ThreadHeap &) = delete;
    ThreadHeap &operator=(const ThreadHeap &) = delete;
    ~ThreadHeap() = delete;

    /// Null does not imply exhaustion: allocate() may succeed.
    [[nodiscard, gnu::always_inline]] void *allocate_at_hand(std::size_t size) noexcept {
        return small_.reap.try_allocate_from_bin(size);
    }
    [[nodiscard]] void *allocate(std::size_t size, std::size_t alignment) noexcept {
        const bool is_small = size <= largest_small && alignment <= largest_small - size;
        return is_small ? small_.try_allocate(size, alignment) : other_.try_allocate(size, alignment);
    }
    /// Frees an object of any heap that is not aligned like a superblock. `heap` is this thread's; null if it
    /// has none, or a scope is open in it.
    [[gnu::always_inline]] static void free(ThreadHeap *heap, void *object) noexcept {
        if constexpr (REAP_TSAN) annotate::ended(object, usable_size(object));
        const HeapOwner *const owner = SmallPart::Chunks::owner_of_unaligned(object);
        // The first member: for an object of no heap it is null, which equals no heap.
        if (reinterpret_cast<const HeapOwner *>(heap) == owner) [[likely]]
            heap->small_.reap.deallocate_small(object);
        else
            free_other(heap, object);
    }
    /// The same for one that may be aligned like a superblock, and is rarely small.
    [[gnu::noinline]] static void free_other(ThreadHeap *heap, void *object) noexcept {
        if constexpr (hardened) {
            if (!SmallPart::Chunks::has_owner(object)) [[unlikely]]
                return report_misuse({Misuse::foreign_free, object, 0, "libreap-malloc"});
        }
        HeapOwner &owner = SmallPart::Chunks::owner_of(object);
        if (heap == nullptr && in_scope != nullptr) {
            heap = in_scope;
            if (&owner == &heap->scoped_) [[likely]]
                return heap->scoped_.free(object);
            if (&owner == &heap->small_) return heap->small_.reap.deallocate_small(object);
        }
        if (HeapOwner::in_groups && owner.part == HeapOwner::Part::small) [[likely]]
            SmallPart::Chunks::group_of(object).push(object, owner.returned);
        else
            free_rare(heap, owner, object);
    }
    [[gnu::noinline]] static void free_rare(ThreadHeap *heap, HeapOwner &owner, void *object) noexcept {
        if (heap != nullptr && &owner == &heap->other_) return heap->other_.deallocate(object);
        if (owner.part == HeapOwner::Part::scoped) {
            if (heap != nullptr && &owner == &heap->scoped_) return heap->scoped_.free(object);
            return ScopedPart::free_elsewhere(object);
        }
        give_pages_back(owner, object);
        // Never closed, so this cannot fail.
        [[maybe_unused]] const bool pushed = owner.returned.push(object);
    }
    /// A large object's memory does not wait for its owner, which may not allocate for a long time; except
    /// for as much as the owner would keep.
    static void give_pages_back(HeapOwner &owner, void *object) noexcept {
        if (owner.part != HeapOwner::Part::other || !OtherPart::Inner::is_alone(object)) return;
        const std::size_t size = OtherPart::Inner::usable_size(object);
        const std::size_t before =
            owner.returned.is_empty() ? 0 : owner.large_returned.load(std::memory_order_relaxed);
        if (before + size <= LargeCache::capacity)
            return owner.large_returned.store(before + size, std::memory_order_relaxed);
        ProcessChunks::drop(static_cast<std::byte *>(object) + sizeof(void *), size - sizeof(void *));
    }
    /// Resizes an object of any heap. Null: the object is unchanged.
    [[nodiscard]] void *reallocate(void *object, std::size_t size) noexcept {
        const HeapOwner *const owner = &SmallPart::Chunks::owner_of(object);
        const bool is_small = size <= largest_small;
        if (owner == &small_ && is_small) return small_.reap.try_reallocate(object, size, granule);
        if (owner == &other_ && !is_small) {
            void *const resized = other_.heap.try_resize(object, 0, size, granule);
            if (resized != nullptr) return resized;
        }
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
        switch (SmallPart::Chunks::owner_of(object).part) {
        case HeapOwner::Part::small:
            return SmallPart::Inner::usable_size(object);
        case HeapOwner::Part::scoped:
            return ScopedPart::usable_size(object);
        default:
            return OtherPart::Inner::usable_size(object);
        }
    }

    /// The same as allocate() and reallocate() while a scope is open.
    [[nodiscard]] void *allocate_in_scope(std::size_t size, std::size_t alignment) noexcept {
        if (size <= ScopedPart::largest && alignment <= granule) [[likely]] {
            if (void *const object = scoped_.try_allocate(size); object != nullptr) [[likely]]
                return object;
        }
        return allocate(size, alignment);
    }
    [[nodiscard]] void *reallocate_in_scope(void *object, std::size_t size) noexcept {
        if (&SmallPart::Chunks::owner_of(object) != &scoped_) return reallocate(object, size);
        if (scoped_.try_resize(object, size)) return object;
        void *const moved = allocate_in_scope(size, granule);
        if (moved == nullptr) return nullptr;
        std::memcpy(moved, object, std::min(ScopedPart::usable_size(object), size));
        scoped_.free(object);
        return moved;
    }
    [[nodiscard]] ScopedPart &scoped() noexcept { return scoped_; }

    void trim() noexcept {
        small_.trim();
        small_.purge();
        other_.trim();
        scoped_.trim();
    }
    void trim_if_worth() noexcept {
        small_.trim_if_worth();
        other_.trim_if_worth();
        scoped_.trim();
    }
    [[nodiscard]] std::size_t held() const noexcept {
        return small_.reap.held() + other_.held() + scoped_.held();
    }
    [[nodiscard]] std::size_t freed() const noexcept {
        return small_.reap.freed() + other_.freed() + scoped_.freed();
    }
    [[nodiscard]] bool check() const noexcept { return small_.reap.check() && other_.heap.check(); }

    // For the registry: guarded by ProcessChunks::lock.
    enum class State {
        active, ///< owned by a thread
        idle,   ///< its thread ended; accessed only under the lock
        lost, ///< its thread is not in this process, a child of a fork, and may have been in the midst of it
    };

  private:
    // Programs traverse objects of one kind more often than objects allocated at one time.
    static constexpr ReapOptions small_options{.largest_chunk = std::size_t{128} << 10,
                                               .largest_run = std::size_t{64} << 10};
    // As far as a reap has bins.
    static constexpr std::size_t largest_small = 2016;

    SmallPart small_;
    OtherPart other_;
    ScopedPart scoped_;

  public:
    /// This thread's heap while a scope is open in it; else null.
    static inline constinit thread_local ThreadHeap *in_scope = nullptr;

    State state = State::active;
    ThreadHeap *next = nullptr;
};

} // namespace reap::inline REAP_MODE::interpose
