#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <pthread.h>

#include "reap/core/size.h"
#include "reap/interpose/misused.h"
#include "reap/interpose/process_chunks.h"
#include "reap/interpose/statistics.h"
#include "reap/interpose/thread_heap.h"
#include "reap/source/system_pages.h"

namespace reap::inline REAP_MODE::interpose {

/// A general-purpose allocator: a reap per thread, objects that any thread may free at any time of the
/// process's life. libreap-malloc's functions are built on it.
///
/// A thread gets its heap at its first allocation: one that an ended thread left, objects included, or a new
/// one. When the thread ends the heap becomes idle, and is trimmed if that is worthwhile; the next thread
/// takes it. Before memory is requested from the system, memory that became free in idle heaps is reclaimed.
/// What a thread allocates after it has left its heap, in destructors of other keys, goes to a heap that such
/// threads share under a lock.
///
/// In the child of a fork the heaps of other threads are lost: their objects can be used and freed, but
/// memory freed in them is not reused.
///
/// Nothing here calls malloc, throws, or needs initialization; watch_forks() must be called once.
class Heap {
  public:
    /// The library's name, for messages.
    static constexpr const char *library = "libreap-malloc";
    static constexpr std::size_t granule = ThreadHeap::granule;
    static constexpr HeapSettings settings{
        .alignment = granule, .large_object = ThreadHeap::large_object, .keep = LargeCache::capacity};

    /// Returns null if memory is exhausted; a size of 0 counts as 1.
    [[nodiscard, gnu::always_inline]] static void *allocate(std::size_t size) noexcept {
        void *const object = allocate_at_hand(size);
        return object != nullptr ? object : allocate(size, granule);
    }
    /// The same if it takes no function call; otherwise null, which does not imply exhaustion.
    [[nodiscard, gnu::always_inline]] static void *allocate_at_hand(std::size_t size) noexcept {
        ThreadHeap *const heap = mine_;
        return heap != nullptr ? heap->allocate_at_hand(size) : nullptr;
    }
    /// Allocates from the open scope's chunk. Null if no scope is open, or the chunk is full.
    [[nodiscard, gnu::always_inline]] static void *allocate_in_scope(std::size_t size) noexcept {
        ThreadHeap *const heap = ThreadHeap::in_scope;
        const bool can = heap != nullptr && size <= ScopedPart::largest;
        return can ? heap->scoped().allocate_at_hand(size) : nullptr;
    }
    /// The same at an alignment, which must be a power of two.
    [[nodiscard]] static void *allocate(std::size_t size, std::size_t alignment) noexcept {
        void *const object = try_once(size, alignment);
        if (object != nullptr) [[likely]]
            return object;
        return gather(size) ? try_once(size, alignment) : nullptr;
    }
    /// The same, zeroed. Memory fresh from the system is not touched for that.
    [[nodiscard]] static void *allocate_zeroed(std::size_t size) noexcept {
        ProcessChunks::is_fresh = false;
        void *const object = allocate(size);
        if (object == nullptr) return nullptr;
        // The ownership words of a large object were written over its beginning: one for each chunk of a
        // window.
        constexpr std::size_t written = ProcessChunks::window / Superblocks<>::smallest * sizeof(void *);
        std::memset(object, 0, ProcessChunks::is_fresh ? std::min(size, written) : size);
        return object;
    }

    /// Null is ignored. An address that cannot be an object of this heap ends the program, with a line that
    /// names the function. For other invalid addresses, and for freed objects, nothing is guaranteed.
    [[gnu::always_inline]] static void free(void *object, const char *function = "free") noexcept {
        if ((reinterpret_cast<std::uintptr_t>(object) & (ProcessChunks::window - 1)) == 0) [[unlikely]]
            return free_aligned(object, function);
        if (!MarkedPages::has_unaligned(object)) [[unlikely]]
            misused(library, function, object);
        ThreadHeap::free(mine_, object);
    }
    /// Returns null, with the object unchanged, if memory is exhausted. `object` must not be null.
    [[nodiscard]] static void *reallocate(void *object, std::size_t size) noexcept {
        if (ThreadHeap *const heap = mine_; heap != nullptr) [[likely]] {
            void *const moved = heap->reallocate(object, size);
            if (moved != nullptr) [[likely]]
                return moved;
            return gather(size) ? heap->reallocate(object, size) : nullptr;
        }
        if (ThreadHeap *const heap = ThreadHeap::in_scope; heap != nullptr) {
            void *const moved = heap->reallocate_in_scope(object, size);
            return moved == nullptr && gather(size) ? heap->reallocate_in_scope(object, size) : moved;
        }
        const std::size_t old = ThreadHeap::usable_size(object);
        void *const moved = allocate(size);
        if (moved == nullptr) return nullptr;
        std::memcpy(moved, object, std::min(old, size));
        free(object);
        return moved;
    }
    /// Whether the address may be an object's.
    [[nodiscard]] static bool may_own(const void *object) noexcept { return MarkedPages::has(object); }
    [[nodiscard]] static std::size_t usable_size(const void *object) noexcept {
        return ThreadHeap::usable_size(object);
    }

    /// Returns empty memory to the system: of this thread's heap, of idle ones, and of the caches. Returns
    /// whether there was any.
    static bool trim() noexcept {
        const std::scoped_lock hold(ProcessChunks::lock);
        const ProcessChunks::Held before = ProcessChunks::held();
        if (own() != nullptr) own()->trim();
        for (ThreadHeap *heap = all_; heap != nullptr; heap = heap->next)
            if (heap->state == ThreadHeap::State::idle) heap->trim();
        ProcessChunks::trim();
        const ProcessChunks::Held after = ProcessChunks::held();
        return after.superblocks + after.large < before.superblocks + before.large;
    }

    /// This much memory may stay resident in free blocks between a heap's medium-sized objects, and as much
    /// in chunks that heaps returned. If more is free, and this much was freed since, pages are returned to
    /// the system.
    static void set_trim_threshold(std::size_t bytes) noexcept {
        ProcessChunks::most_unused.store(bytes, std::memory_order_relaxed);
    }

    [[nodiscard]] static HeapStatistics statistics() noexcept {
        const std::scoped_lock hold(ProcessChunks::lock);
        const ProcessChunks::Held held = ProcessChunks::held();
        HeapStatistics found{.chunks = held.superblocks,
                             .large = held.large,
                             .kept = held.kept,
                             .large_objects = held.large_objects};
        for (const ThreadHeap *heap = all_; heap != nullptr; heap = heap->next) {
            ++found.heaps;
            if (heap->state != ThreadHeap::State::idle) continue;
            ++found.idle;
            found.idle_freed += heap->freed();
        }
        if (const ThreadHeap *const heap = own(); heap != nullptr) {
            found.mine = heap->held();
            found.mine_freed = heap->freed();
        }
        return found;
    }

    /// From here on this thread's small objects go to a scope's chunks: see scope.h. Returns its number, by
    /// which it is closed, or 0 where there is none: too many are open, or memory is exhausted.
    [[nodiscard]] static std::size_t open_scope() noexcept {
        ThreadHeap *const outer = ThreadHeap::in_scope;
        ThreadHeap *const heap = outer != nullptr ? outer : mine_;
        if (heap == nullptr) [[unlikely]]
            return !has_left_ && join() != nullptr ? open_scope() : 0;
        const std::size_t scope = heap->scoped().open(outer != nullptr);
        if (scope != 0) [[likely]]
            set_in_scope(heap, true);
        return scope;
    }
    /// Closes that scope, and all that were opened after it.
    static void close_scope(std::size_t scope) noexcept {
        ThreadHeap *const heap = own();
        if (heap == nullptr || scope == 0 || heap->scoped().depth() < scope) return;
        set_in_scope(heap, heap->scoped().close(scope));
    }
    /// Sends objects to the heap again, or not, until the innermost scope is closed. Returns how it was.
    static bool leave_scope(bool leave) noexcept {
        ThreadHeap *const heap = own();
        const bool was_out = ThreadHeap::in_scope == nullptr;
        if (heap != nullptr && heap->scoped().depth() != 0) set_in_scope(heap, !leave);
        return was_out;
    }

    /// Keeps the heap consistent across fork(). Returns false if the handlers cannot be registered.
    static bool watch_forks() noexcept { return ::pthread_atfork(before_fork, after_fork, begin_child) == 0; }

  private:
    static void set_in_scope(ThreadHeap *heap, bool inside) noexcept {
        mine_ = inside ? nullptr : heap;
        ThreadHeap::in_scope = inside ? heap : nullptr;
    }
    /// Null, or a large object that is aligned like a superblock.
    [[gnu::noinline]] static void free_aligned(void *object, const char *function) noexcept {
        if (object == nullptr) return;
        if (!MarkedPages::has(object)) misused(library, function, object);
        ThreadHeap::free_other(mine_, object);
    }
    [[gnu::always_inline]] static void *try_once(std::size_t size, std::size_t alignment) noexcept {
        if (ThreadHeap *const heap = mine_; heap != nullptr) [[likely]]
            return heap->allocate(size, alignment);
        return allocate_slow(size, alignment);
    }
    /// The system has no more memory. Returns whether another try is worthwhile, after all free memory was
    /// coalesced.
    [[gnu::noinline, gnu::cold]] static bool gather(std::size_t size) noexcept {
        if (size > (std::size_t{1} << 47)) return false; // beyond any machine's memory
        trim();
        return true;
    }

    [[gnu::noinline]] static void *allocate_slow(std::size_t size, std::size_t alignment) noexcept {
        if (ThreadHeap *const heap = ThreadHeap::in_scope; heap != nullptr) [[likely]]
            return heap->allocate_in_scope(size, alignment);
        if (has_left_) {
            const std::scoped_lock hold(ProcessChunks::lock);
            if (late_ == nullptr) late_ = make();
            return late_ == nullptr ? nullptr : late_->allocate(size, alignment);
        }
        ThreadHeap *const heap = join();
        return heap == nullptr ? nullptr : heap->allocate(size, alignment);
    }

    /// Assigns a heap to this thread.
    static ThreadHeap *join() noexcept {
        {
            const std::scoped_lock hold(ProcessChunks::lock);
            ProcessChunks::before_superblock = relieve;
            ThreadHeap *heap = all_;
            while (heap != nullptr && heap->state != ThreadHeap::State::idle) heap = heap->next;
            if (heap == nullptr) {
                heap = make();
                if (heap == nullptr) return nullptr;
                heap->next = all_;
                all_ = heap;
            }
            heap->state = ThreadHeap::State::active;
            mine_ = heap;
            if (!key_made_) key_made_ = ::pthread_key_create(&key_, leave) == 0;
        }
        // From here on this thread may allocate. Without a key its heap never passes to another thread.
        if (key_made_) ::pthread_setspecific(key_, mine_);
        return mine_;
    }

    /// This thread ends. Objects may still be freed.
    static void leave(void * /*heap*/) noexcept {
        ThreadHeap *const heap = own();
        close_scope(1); // of a thread that ended itself in the midst of them
        heap->trim_if_worth();
        const std::scoped_lock hold(ProcessChunks::lock);
        mine_ = nullptr;
        has_left_ = true;
        heap->state = ThreadHeap::State::idle;
    }

    /// Heaps are carved out of pages, and are never freed.
    static ThreadHeap *make() noexcept {
        // One page, or two in the modes that check.
        constexpr std::size_t pages = round_up(sizeof(ThreadHeap), 4096);
        if (room_ < sizeof(ThreadHeap)) {
            space_ = static_cast<std::byte *>(SystemPages::try_allocate(pages, 1));
            room_ = space_ == nullptr ? 0 : pages;
            if (space_ == nullptr) return nullptr;
        }
        auto *const heap = ::new (static_cast<void *>(space_)) ThreadHeap;
        space_ += sizeof(ThreadHeap);
        room_ -= sizeof(ThreadHeap);
        return heap;
    }

    /// Reclaims what became free in heaps without a thread. The lock must be held.
    static void relieve() noexcept {
        for (ThreadHeap *heap = all_; heap != nullptr; heap = heap->next)
            if (heap->state == ThreadHeap::State::idle) heap->trim_if_worth();
    }

    static void before_fork() noexcept { ProcessChunks::lock.lock(); }
    static void after_fork() noexcept { ProcessChunks::lock.unlock(); }
    static void begin_child() noexcept {
        ProcessChunks::lock.begin_child();
        for (ThreadHeap *heap = all_; heap != nullptr; heap = heap->next)
            if (heap->state == ThreadHeap::State::active && heap != own())
                heap->state = ThreadHeap::State::lost;
    }

    /// This thread's heap, whether a scope is open in it or not; null if it has none.
    static ThreadHeap *own() noexcept { return mine_ != nullptr ? mine_ : ThreadHeap::in_scope; }

    // While a scope is open `mine_` is null, so that what is allocated at hand costs no more without scopes.
    static inline constinit thread_local ThreadHeap *mine_ = nullptr;
    static inline constinit thread_local bool has_left_ = false;

    // Guarded by ProcessChunks::lock.
    static inline constinit ThreadHeap *all_ = nullptr;
    static inline constinit ThreadHeap *late_ = nullptr; // in no list
    static inline constinit std::byte *space_ = nullptr;
    static inline constinit std::size_t room_ = 0;
    static inline constinit bool key_made_ = false;
    static inline constinit pthread_key_t key_ = 0;
};

} // namespace reap::inline REAP_MODE::interpose
