#include "watch_list.h"

#include <cstring>
#include <sys/mman.h>

namespace reap::preload {

namespace {
constexpr uint8_t kSticky = 255; // a saturated count, or a guarded byte: never decremented
}

uint8_t WatchList::filter[kFilterBytes] = {kSticky};

size_t WatchList::first_entry(const Table *table, uintptr_t address) noexcept {
    return (address * UINT64_C(0x9e3779b97f4a7c15)) >> 20 & (table->capacity - 1);
}

bool WatchList::grow() noexcept {
    size_t capacity = 64;
    while (capacity < live_ * 4) capacity *= 2;
    const size_t bytes = sizeof(Table) + capacity * sizeof(uintptr_t);
    auto *fresh = static_cast<Table *>(table_ == nullptr ? map_first_table(bytes) : map_private(bytes));
    if (fresh == nullptr) return false;
    fresh->capacity = capacity;
    for (size_t i = 0; table_ != nullptr && i < table_->capacity; ++i) {
        const uintptr_t address = table_->entries[i];
        if (address <= kTombstone) continue;
        size_t at = first_entry(fresh, address);
        while (fresh->entries[at] != 0) at = (at + 1) & (capacity - 1);
        fresh->entries[at] = address;
    }
    // The old table stays mapped: another thread may be reading it. A block that is freed meanwhile is
    // removed under the lock.
    __atomic_store_n(&table_, fresh, __ATOMIC_RELEASE);
    filled_ = live_;
    return true;
}

bool WatchList::add(const void *pointer) noexcept {
    const LockGuard guard(lock_);
    if ((table_ == nullptr || filled_ * 2 >= table_->capacity) && !grow()) return false;
    const auto address = reinterpret_cast<uintptr_t>(pointer);
    size_t at = first_entry(table_, address);
    while (table_->entries[at] != 0) at = (at + 1) & (table_->capacity - 1);
    __atomic_store_n(&table_->entries[at], address, __ATOMIC_RELEASE);
    ++filled_;
    __atomic_store_n(&live_, live_ + 1, __ATOMIC_RELAXED);
    uint8_t &count = filter[slot(pointer, kMask)];
    if (count != kSticky) __atomic_store_n(&count, static_cast<uint8_t>(count + 1), __ATOMIC_RELEASE);
    return true;
}

bool WatchList::remove(const void *pointer) noexcept {
    const auto address = reinterpret_cast<uintptr_t>(pointer);
    // Most hits of the filter are false positives: check without the lock. Only the owner of a block frees
    // it, so a watched block is found here whatever other threads change in the table.
    const Table *seen = __atomic_load_n(&table_, __ATOMIC_ACQUIRE);
    if (seen == nullptr || address <= kTombstone) return false;
    for (size_t at = first_entry(seen, address);; at = (at + 1) & (seen->capacity - 1)) {
        const uintptr_t entry = __atomic_load_n(&seen->entries[at], __ATOMIC_ACQUIRE);
        if (entry == 0) return false;
        if (entry == address) break;
    }
    const LockGuard guard(lock_);
    for (size_t at = first_entry(table_, address); table_->entries[at] != 0;
         at = (at + 1) & (table_->capacity - 1)) {
        if (table_->entries[at] != address) continue;
        __atomic_store_n(&table_->entries[at], kTombstone, __ATOMIC_RELEASE);
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
    // Writes to few pages of a nearly empty filter, since each write copies a page; the table is not copied.
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
