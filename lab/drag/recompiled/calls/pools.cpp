// The engine as a listener to marks: an object of a pool is a step of the clock, as a block of malloc is, and
// the exact engine counts it so (lab/drag/valgrind/pools.c).
#include "calls/pools.h"

#include "engine.h"
#include "objects/address_map.h"
#include "objects/chunks.h"
#include "objects/shadow.h"
#include "platform.h"
#include "reap/mark.h"

namespace reap::drag {
namespace {

struct Pool;
struct Object {
    uintptr_t at;
    size_t size;
    Object *newer, *older; // in its pool
    Pool *pool;
    uint32_t birth;
};
struct Pool {
    Object *newest;
    Pool *next; // of those that are free to be used again
};

// All of it under the engine's lock.
AddressMap objects;
AddressMap pools;

// Records of one kind, in mapped memory that is reused and never unmapped.
template <class Record, Record *Record::*next>
class Slab {
  public:
    Record *take() noexcept {
        if (free_ != nullptr) {
            Record *record = free_;
            free_ = record->*next;
            return record;
        }
        if (left_ == 0) {
            fresh_ = static_cast<Record *>(preload::map_private(kBytes));
            if (fresh_ == nullptr) return nullptr;
            left_ = kBytes / sizeof(Record);
        }
        --left_;
        return fresh_++;
    }
    void give(Record *record) noexcept {
        record->*next = free_;
        free_ = record;
    }

  private:
    static constexpr size_t kBytes = size_t{1} << 18;
    Record *free_ = nullptr;
    Record *fresh_ = nullptr;
    size_t left_ = 0;
};
Slab<Object, &Object::older> object_records;
Slab<Pool, &Pool::next> pool_records;

uintptr_t address_of(const void *pointer) noexcept { return reinterpret_cast<uintptr_t>(pointer); }

Pool *pool_of(const void *name) noexcept {
    const AddressMap::Entry *entry = pools.find(address_of(name));
    return entry == nullptr ? nullptr : reinterpret_cast<Pool *>(entry->word);
}

// One that was never said to exist exists now: an annotation may be a half one.
Pool *make_pool(const void *name) noexcept {
    if (Pool *pool = pool_of(name); pool != nullptr) return pool;
    Pool *pool = pool_records.take();
    if (pool == nullptr || !pools.add(address_of(name), address_of(pool))) return nullptr;
    *pool = {};
    return pool;
}

void put_into(Pool &pool, Object &object) noexcept {
    object.pool = &pool;
    object.newer = nullptr;
    object.older = pool.newest;
    if (object.older != nullptr) object.older->newer = &object;
    pool.newest = &object;
}

void drop(Object &object) noexcept {
    write_end(REAP_DRAG_FREE, object.at, object.size, object.birth, 0);
    objects.remove(objects.find(object.at));
    (object.newer != nullptr ? object.newer->older : object.pool->newest) = object.older;
    if (object.older != nullptr) object.older->newer = object.newer;
    object_records.give(&object);
}

Object *object_at(const void *pointer) noexcept {
    const AddressMap::Entry *entry = objects.find(address_of(pointer));
    return entry == nullptr ? nullptr : reinterpret_cast<Object *>(entry->word);
}

void clear(Pool *pool) noexcept {
    while (pool != nullptr && pool->newest != nullptr) drop(*pool->newest);
}

// The functions of the table. What says nothing of an object that is known, is passed over.

void create(const void *name, const char * /*kind*/) {
    if (!records()) return;
    const Turn turn;
    make_pool(name);
}

__attribute__((noinline)) void alloc(const void *name, const void *pointer, size_t size) {
    if (!records() || pointer == nullptr) return;
    const preload::ErrnoGuard keep;
    Stack stack;
    walk(__builtin_frame_address(0), __builtin_return_address(0), stack);
    const Turn turn;
    if (Object *before = object_at(pointer); before != nullptr) drop(*before);
    carve(address_of(pointer));
    const uint32_t birth = step(REAP_DRAG_POOLED, stack, size);
    if (birth == 0) return;
    Pool *pool = make_pool(name);
    Object *object = pool == nullptr ? nullptr : object_records.take();
    if (object == nullptr || !objects.add(address_of(pointer), address_of(object))) return;
    object->at = address_of(pointer);
    object->size = size;
    object->birth = birth;
    put_into(*pool, *object);
    forget_reads(object->at, size); // those of what was there before, and of the pool itself
}

void free_object(const void * /*name*/, const void *pointer) {
    if (!records()) return;
    const Turn turn;
    if (Object *object = object_at(pointer); object != nullptr) drop(*object);
}

void clear_pool(const void *name) {
    if (!records()) return;
    const Turn turn;
    clear(pool_of(name));
}

void destroy(const void *name) {
    if (!records()) return;
    const Turn turn;
    Pool *pool = pool_of(name);
    if (pool == nullptr) return;
    clear(pool);
    pools.remove(pools.find(address_of(name)));
    pool_records.give(pool);
}

void rewind(const void *name, const void *pointer) {
    if (!records()) return;
    const Turn turn;
    Pool *pool = pool_of(name);
    const Object *last = object_at(pointer);
    if (pool == nullptr || last == nullptr || last->pool != pool) return;
    while (pool->newest != last) drop(*pool->newest);
    drop(*pool->newest);
}

void merge(const void *into, const void *from) {
    if (!records()) return;
    const Turn turn;
    Pool *taken = pool_of(from);
    Pool *taker = make_pool(into);
    if (taken == nullptr || taker == nullptr || taken == taker || taken->newest == nullptr) return;
    // What the one has is newer than what the other had.
    Object *oldest = taken->newest;
    for (Object *object = taken->newest; object != nullptr; object = object->older) {
        object->pool = taker;
        oldest = object;
    }
    oldest->older = taker->newest;
    if (taker->newest != nullptr) taker->newest->newer = oldest;
    taker->newest = taken->newest;
    taken->newest = nullptr;
}

void request_begin() {}
void request_end() {}
void phase(const char * /*name*/) {}

} // namespace

void each_object(void (*each)(uintptr_t, size_t, uint32_t)) noexcept {
    objects.each([each](const AddressMap::Entry &entry) {
        const auto *object = reinterpret_cast<const Object *>(entry.word);
        each(object->at, object->size, object->birth);
    });
}

} // namespace reap::drag

// What mark.h looks for.
extern "C" __attribute__((visibility("default"))) const reap_mark_listener reap_mark_listener_1;
const reap_mark_listener reap_mark_listener_1 = {
    reap::drag::request_begin, reap::drag::request_end, reap::drag::phase,      reap::drag::create,
    reap::drag::alloc,         reap::drag::free_object, reap::drag::clear_pool, reap::drag::destroy,
    reap::drag::rewind,        reap::drag::merge};
