#include "heap.h"

#include <algorithm>

namespace reap::preload {

constinit thread_local HeapThread heap_thread __attribute__((tls_model("initial-exec"))){};
constinit Heap heap;

namespace {

constexpr size_t kMostAddressSpace = size_t{256} << 30;
constexpr size_t kLargestSmall = kGranule / 2;
constexpr size_t kMetadata = size_t{256} << 10;

// What a thread keeps of a class.
constexpr size_t kMostBlocks = 1024;
constexpr size_t kLeastBlocks = 8;
constexpr size_t kMostBytes = size_t{512} << 10;

void prepare(HeapState &state) noexcept {
    for (uint32_t index = 1; index < kClasses; ++index) {
        const size_t blocks = std::clamp(kMostBytes / size_of(index), kLeastBlocks, kMostBlocks);
        state.lists[index].limit = static_cast<uint32_t>(blocks);
    }
    state.ready = true;
}

void reset(HeapThread &thread) noexcept { thread = {nullptr, true}; }

} // namespace

void Heap::start() noexcept {
    threads_.start([](void *state) { heap.thread_ended(static_cast<HeapState *>(state)); });
    if (heap_thread.state != nullptr) threads_.watch(heap_thread.state);
}

void Heap::thread_ended(HeapState *state) noexcept {
    reset(heap_thread);
    threads_.release(state);
}

bool Heap::reserve() noexcept {
    if (__atomic_load_n(&reserved_, __ATOMIC_ACQUIRE) != 0) return slabs_ != nullptr;
    const LockGuard guard(reserve_lock_);
    if (reserved_ == 0 && region_.reserve(kMostAddressSpace)) {
        const size_t granules = region_.size() / kGranule;
        auto *const memory = static_cast<unsigned char *>(map_private(granules * (sizeof(Slab *) + 1)));
        if (memory != nullptr) {
            slabs_ = reinterpret_cast<Slab **>(memory);
            classes_ = memory + granules * sizeof(Slab *);
        }
    }
    __atomic_store_n(&reserved_, 1, __ATOMIC_RELEASE);
    return slabs_ != nullptr;
}

HeapState *Heap::acquire() noexcept {
    HeapState *const state = threads_.acquire();
    if (state == nullptr) return nullptr;
    if (!state->ready) prepare(*state);
    heap_thread.state = state;
    threads_.watch(state);
    return state;
}

void *Heap::allocate_slow(size_t size) noexcept {
    const ErrnoGuard keep;
    if (size > kLargest || !reserve()) return nullptr;
    const uint32_t index = class_of(size);
    bool zeroed = false;
    if (!heap_thread.ended) {
        HeapState *const state = acquire();
        return state != nullptr ? pop(*state, index, &zeroed) : nullptr;
    }
    const LockGuard guard(ended_lock_);
    if (!ended_.ready) prepare(ended_);
    return pop(ended_, index, &zeroed);
}

void Heap::release_slow(void *pointer) noexcept {
    const ErrnoGuard keep;
    const uint32_t index = classes_[region_.granule_of(pointer)];
    if (!heap_thread.ended) {
        if (HeapState *const state = acquire()) push(*state, index, static_cast<Block *>(pointer));
        return; // without memory for a list the block is lost
    }
    const LockGuard guard(ended_lock_);
    if (!ended_.ready) prepare(ended_);
    push(ended_, index, static_cast<Block *>(pointer));
}

void *Heap::allocate_aligned(size_t alignment, size_t size) noexcept {
    if (alignment > kGranule || size > kLargest - alignment) return nullptr;
    // Slabs begin at a multiple of a granule, so blocks are aligned to what divides their size.
    uint32_t index = class_of(size);
    while (size_of(index) <= kLargestSmall && size_of(index) % alignment != 0) ++index;
    return allocate(size_of(index));
}

void *Heap::metadata(size_t bytes) noexcept {
    constexpr size_t kLine = 64;
    bytes = (bytes + kLine - 1) & ~(kLine - 1);
    if (bytes > kMetadata / 2) return map_private(bytes);
    const LockGuard guard(metadata_lock_);
    if (static_cast<size_t>(metadata_end_ - metadata_) < bytes) {
        auto *const memory = static_cast<char *>(map_private(kMetadata));
        if (memory == nullptr) return nullptr;
        metadata_ = memory;
        metadata_end_ = memory + kMetadata;
    }
    char *const found = metadata_;
    metadata_ += bytes;
    return found;
}

void *Heap::refill(HeapState &state, uint32_t index, bool *zeroed) noexcept {
    const ErrnoGuard keep;
    if (!gather(state, index) && !take_slab(state, index)) return nullptr;
    return pop(state, index, zeroed);
}

// Takes free blocks back from where they went when the list was full.
bool Heap::gather(HeapState &state, uint32_t index) noexcept {
    ClassList &list = state.lists[index];
    if (size_of(index) > kLargestSmall) {
        const LockGuard guard(large_lock_);
        Block *const block = large_[index];
        if (block == nullptr) return false;
        large_[index] = block->next;
        block->next = nullptr;
        list.head = block;
        list.count = 1;
        return true;
    }
    Block **end = &list.head;
    const LockGuard guard(state.lock);
    while (list.count < list.limit / 2 && list.partial != nullptr) {
        Slab &slab = *list.partial;
        for (uint32_t word = 0; word < slab.words && list.count < list.limit / 2; ++word) {
            while (slab.bits[word] != 0 && list.count < list.limit / 2) {
                const auto bit = static_cast<uint32_t>(__builtin_ctzll(slab.bits[word]));
                slab.bits[word] &= slab.bits[word] - 1;
                *end = reinterpret_cast<Block *>(slab.memory + (word * 64 + bit) * size_of(index));
                end = &(*end)->next;
                ++list.count;
                --slab.free;
            }
        }
        if (slab.free != 0) break;
        slab.listed = false;
        list.partial = slab.next;
    }
    *end = nullptr;
    return list.count != 0;
}

bool Heap::take_slab(HeapState &state, uint32_t index) noexcept {
    const size_t size = size_of(index);
    const bool small = size <= kLargestSmall;
    const size_t bytes = small ? kGranule : (size + kGranule - 1) & ~(kGranule - 1);
    // NOLINTNEXTLINE(clang-analyzer-core.DivideZero): no index is of class 0, the only one of size 0.
    const size_t blocks = small ? kGranule / size : 1;
    const size_t words = (blocks + 63) / 64;
    const size_t bits = words * sizeof(uint64_t);
    const size_t shadows = kShadowed ? blocks * sizeof(void *) : 0;
    const size_t head = sizeof(Slab) - sizeof(Slab::bits);
    auto *const memory = static_cast<char *>(metadata(head + bits + shadows));
    if (memory == nullptr) return false;
    auto *const taken = static_cast<char *>(region_.take(bytes));
    if (taken == nullptr) return false; // the metadata is lost, which happens once in a full region
    auto *const slab = reinterpret_cast<Slab *>(memory);
    slab->owner = &state;
    slab->memory = taken;
    slab->shadows = reinterpret_cast<void **>(memory + head + bits);
    slab->size_class = index;
    slab->words = static_cast<uint32_t>(words);
    slab->reciprocal = small ? static_cast<uint32_t>((uint64_t{1} << 32) / size + 1) : 0;
    const size_t granule = region_.granule_of(taken);
    slabs_[granule] = slab;
    classes_[granule] = static_cast<uint8_t>(index);
    ClassList &list = state.lists[index];
    list.fresh = taken;
    list.fresh_end = taken + blocks * size;
    return true;
}

// Keeps the blocks that were freed last, which are likely in the CPU's caches.
void Heap::flush(ClassList &list, uint32_t index) noexcept {
    const ErrnoGuard keep;
    const uint32_t kept = list.limit / 2;
    Block *last = list.head;
    for (uint32_t i = 1; i < kept; ++i) last = last->next;
    Block *const rest = last->next;
    last->next = nullptr;
    list.count = kept;
    if (size_of(index) > kLargestSmall) return flush_large(rest, index);
    flush_small(rest);
}

void Heap::flush_small(Block *block) noexcept {
    HeapState *locked = nullptr;
    while (block != nullptr) {
        Block *const next = block->next;
        Slab &slab = *slabs_[region_.granule_of(block)];
        if (slab.owner != locked) {
            if (locked != nullptr) locked->lock.unlock();
            locked = slab.owner;
            locked->lock.lock();
        }
        const size_t index = index_of(slab, block);
        slab.bits[index / 64] |= uint64_t{1} << index % 64;
        ++slab.free;
        if (!slab.listed) {
            // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): every slab has an owner.
            Slab *&partial = locked->lists[slab.size_class].partial;
            slab.listed = true;
            slab.next = partial;
            partial = &slab;
        }
        block = next;
    }
    if (locked != nullptr) locked->lock.unlock();
}

void Heap::flush_large(Block *block, uint32_t index) noexcept {
    Block *last = block;
    while (last->next != nullptr) last = last->next;
    const LockGuard guard(large_lock_);
    last->next = large_[index];
    large_[index] = block;
}

void Heap::lock_all() noexcept {
    threads_.lock().lock();
    ended_lock_.lock();
    for (HeapState *state = threads_.all(); state != nullptr; state = state->all_next) state->lock.lock();
    ended_.lock.lock();
    large_lock_.lock();
    metadata_lock_.lock();
    region_.lock().lock();
}

void Heap::unlock_all() noexcept {
    region_.lock().unlock();
    metadata_lock_.unlock();
    large_lock_.unlock();
    ended_.lock.unlock();
    for (HeapState *state = threads_.all(); state != nullptr; state = state->all_next) state->lock.unlock();
    ended_lock_.unlock();
    threads_.lock().unlock();
}

} // namespace reap::preload
