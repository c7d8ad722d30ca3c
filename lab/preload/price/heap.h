// Recycles blocks by size class: a list for each thread and class, no header in front of a block, and no lock
// but where a list is empty or full.
//
// The class of a block is that of the granule that it lies in. A thread that frees a block keeps it, whoever
// allocated it. What a thread has too much of goes back to the block's slab, from which blocks are taken in
// the order of addresses: a list that was freed in random order is allocated in order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform.h"
#include "region.h"
#include "size_class.h"
#include "threads.h"

namespace reap::preload {

struct Block {
    Block *next;
};

struct HeapState;

// A granule of small blocks, or one large block. Guarded by its owner's lock.
struct Slab {
    static constexpr size_t kWords = kGranule / kStep / 64;

    HeapState *owner;
    Slab *next; // among those with free blocks
    char *memory;
    void **shadows; // one for each block, for use by libreap-price-placed.so
    uint32_t size_class;
    uint32_t free;
    uint32_t words;      // of the bits
    uint32_t reciprocal; // of the block size, in 2^-32; 0 of one block
    bool listed;
    uint64_t bits[kWords]; // set: free, and in no thread's list; only `words` of them exist
};

struct ClassList {
    Block *head;
    char *fresh; // never used, up to `fresh_end`
    char *fresh_end;
    Slab *partial; // of this owner, with free blocks; guarded by the owner's lock
    uint32_t count;
    uint32_t limit;
};

struct HeapState : ThreadLinks<HeapState> {
    FutexLock lock;
    bool ready;
    ClassList lists[kClasses];
};

struct HeapThread {
    HeapState *state;
    bool ended; // its destructors run, or have run
};

extern constinit thread_local HeapThread heap_thread __attribute__((tls_model("initial-exec")));

class Heap {
  public:
    // In a constructor: thread ends and forks are seen from here on.
    void start() noexcept;

    // A block of at least `size` bytes, aligned to 16; null if the region is full.
    void *allocate(size_t size) noexcept {
        bool zeroed;
        return allocate(size, &zeroed);
    }

    // The same; sets `zeroed` if the memory is known to be zero.
    void *allocate(size_t size, bool *zeroed) noexcept {
        *zeroed = false;
        HeapState *const state = heap_thread.state;
        if (unlikely(size > kLargest || state == nullptr)) return allocate_slow(size);
        return pop(*state, class_of(size), zeroed);
    }

    // The same for a power of two, null also if no block can be so aligned.
    void *allocate_aligned(size_t alignment, size_t size) noexcept;

    // A block that `owns` is true of.
    void release(void *pointer) noexcept {
        HeapState *const state = heap_thread.state;
        if (unlikely(state == nullptr)) return release_slow(pointer);
        push(*state, classes_[region_.granule_of(pointer)], static_cast<Block *>(pointer));
    }

    [[nodiscard]] bool owns(const void *pointer) const noexcept { return region_.contains(pointer); }

    [[nodiscard]] size_t usable(const void *pointer) const noexcept {
        return size_of(classes_[region_.granule_of(pointer)]);
    }

    // The place for a pointer that belongs to a block; null if this heap keeps none.
    [[nodiscard]] void **shadow_of(const void *pointer) const noexcept {
        const Slab *const slab = slabs_[region_.granule_of(pointer)];
        return slab->shadows + index_of(*slab, pointer);
    }

    // Around a fork.
    void lock_all() noexcept;
    void unlock_all() noexcept;

    void thread_ended(HeapState *state) noexcept;

  private:
    void *pop(HeapState &state, uint32_t index, bool *zeroed) noexcept {
        ClassList &list = state.lists[index];
        if (Block *const block = list.head; likely(block != nullptr)) {
            list.head = block->next;
            --list.count;
            return block;
        }
        if (char *const fresh = list.fresh; likely(fresh != list.fresh_end)) {
            list.fresh = fresh + size_of(index);
            *zeroed = true;
            return fresh;
        }
        return refill(state, index, zeroed);
    }
    void push(HeapState &state, uint32_t index, Block *block) noexcept {
        ClassList &list = state.lists[index];
        block->next = list.head;
        list.head = block;
        if (unlikely(++list.count > list.limit)) flush(list, index);
    }

    // Exact: an offset has 16 bits, and the size of a small block 15.
    [[nodiscard]] static size_t index_of(const Slab &slab, const void *pointer) noexcept {
        const auto offset = static_cast<uint64_t>(static_cast<const char *>(pointer) - slab.memory);
        return offset * slab.reciprocal >> 32;
    }
    bool reserve() noexcept;
    HeapState *acquire() noexcept;
    REAP_COLD void *allocate_slow(size_t size) noexcept;
    REAP_COLD void release_slow(void *pointer) noexcept;
    REAP_COLD void *refill(HeapState &state, uint32_t index, bool *zeroed) noexcept;
    REAP_COLD void flush(ClassList &list, uint32_t index) noexcept;
    bool gather(HeapState &state, uint32_t index) noexcept;
    bool take_slab(HeapState &state, uint32_t index) noexcept;
    void flush_small(Block *block) noexcept;
    void flush_large(Block *block, uint32_t index) noexcept;
    void *metadata(size_t bytes) noexcept;

    Region region_;
    uint8_t *classes_ = nullptr; // of the granule that a block begins in
    Slab **slabs_ = nullptr;
    Threads<HeapState> threads_;
    HeapState ended_{}; // of threads that have ended, guarded by:
    FutexLock ended_lock_;
    Block *large_[kClasses] = {}; // free in no thread's list, guarded by:
    FutexLock large_lock_;
    char *metadata_ = nullptr; // guarded by:
    char *metadata_end_ = nullptr;
    FutexLock metadata_lock_;
    int reserved_ = 0; // (atomic) 1: done, or impossible
    FutexLock reserve_lock_;
};

extern Heap heap;

// Whether slabs have room for shadows; each object that is linked with the heap decides.
extern const bool kShadowed;

} // namespace reap::preload
