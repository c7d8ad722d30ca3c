#include "watch_list.h"

#include <cstring>
#include <sys/mman.h>

namespace reap::preload {

namespace {
constexpr uint8_t kSticky = 255; // a count that ran over, or a guarded byte: never counted down
}

uint8_t WatchList::filter[kFilterBytes] = {kSticky};

size_t WatchList::first_place(const Table *table, uintptr_t address) noexcept {
    return (address * UINT64_C(0x9e3779b97f4a7c15)) >> 20 & (table->capacity - 1);
}

bool WatchList::grow() noexcept {
    size_t capacity = 4096;
    while (capacity < live_ * 4) capacity *= 2;
    auto *fresh = static_cast<Table *>(map_private(sizeof(Table) + capacity * sizeof(uintptr_t)));
    if (fresh == nullptr) return false;
    fresh->capacity = capacity;
    for (size_t i = 0; table_ != nullptr && i < table_->capacity; ++i) {
        const uintptr_t address = table_->places[i];
        if (address <= kGone) continue;
        size_t at = first_place(fresh, address);
        while (fresh->places[at] != 0) at = (at + 1) & (capacity - 1);
        fresh->places[at] = address;
    }
    // The old table stays mapped: another thread may be looking into it. A block that is freed meanwhile is
    // freed by its owner, who takes the lock before it removes.
    __atomic_store_n(&table_, fresh, __ATOMIC_RELEASE);
    filled_ = live_;
    return true;
}

bool WatchList::add(const void *pointer) noexcept {
    const LockGuard guard(lock_);
    if ((table_ == nullptr || filled_ * 2 >= table_->capacity) && !grow()) return false;
    const auto address = reinterpret_cast<uintptr_t>(pointer);
    size_t at = first_place(table_, address);
    while (table_->places[at] != 0) at = (at + 1) & (table_->capacity - 1);
    __atomic_store_n(&table_->places[at], address, __ATOMIC_RELEASE);
    ++filled_;
    __atomic_store_n(&live_, live_ + 1, __ATOMIC_RELAXED);
    uint8_t &count = filter[slot(pointer, kMask)];
    if (count != kSticky) __atomic_store_n(&count, static_cast<uint8_t>(count + 1), __ATOMIC_RELEASE);
    return true;
}

bool WatchList::remove(const void *pointer) noexcept {
    const auto address = reinterpret_cast<uintptr_t>(pointer);
    // Most alarms are false: find that out without the lock. Only the owner of a block frees it, so a block
    // that is watched is found here however the table changes beside us.
    const Table *seen = __atomic_load_n(&table_, __ATOMIC_ACQUIRE);
    if (seen == nullptr || address <= kGone) return false;
    for (size_t at = first_place(seen, address);; at = (at + 1) & (seen->capacity - 1)) {
        const uintptr_t place = __atomic_load_n(&seen->places[at], __ATOMIC_ACQUIRE);
        if (place == 0) return false;
        if (place == address) break;
    }
    const LockGuard guard(lock_);
    for (size_t at = first_place(table_, address); table_->places[at] != 0;
         at = (at + 1) & (table_->capacity - 1)) {
        if (table_->places[at] != address) continue;
        __atomic_store_n(&table_->places[at], kGone, __ATOMIC_RELEASE);
        __atomic_store_n(&live_, live_ - 1, __ATOMIC_RELAXED);
        uint8_t &count = filter[slot(pointer, kMask)];
        if (count != kSticky) __atomic_store_n(&count, static_cast<uint8_t>(count - 1), __ATOMIC_RELEASE);
        return true;
    }
    return false;
}

void WatchList::guard(const void *begin, const void *end) noexcept {
    for (auto at = reinterpret_cast<uintptr_t>(begin); at < reinterpret_cast<uintptr_t>(end); at += 16) {
        filter[slot(reinterpret_cast<const void *>(at), kMask)] = kSticky;
    }
}

void WatchList::forget() noexcept {
    lock_.reset();
    if (live_ == 0) return;
    // Of a filter that is nearly empty few pages are written to, and so copied, and the table is not copied
    // at all.
    for (size_t at = 0; at < kFilterBytes; at += sizeof(uint64_t)) {
        uint64_t counts;
        memcpy(&counts, filter + at, sizeof counts);
        if (counts == 0) continue;
        for (size_t i = at; i < at + sizeof counts; ++i) {
            if (filter[i] != 0 && filter[i] != kSticky) filter[i] = 0;
        }
    }
    const ErrnoGuard keep;
    munmap(table_, sizeof(Table) + table_->capacity * sizeof(uintptr_t));
    table_ = nullptr;
    live_ = 0;
    filled_ = 0;
}

} // namespace reap::preload
