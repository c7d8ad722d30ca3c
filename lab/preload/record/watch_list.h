// The sampled blocks that are still in use, to detect when they are freed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform.h"

namespace reap::preload {

// Every free first checks the filter: one byte, the number of watched blocks that map to it. Neighbouring
// blocks share the filter's cache lines. A false positive costs a lookup in the table, without a lock.
class WatchList {
  public:
    static constexpr size_t kFilterBytes = 65536;

    // The filter byte of `pointer` for a thread with this mask. A mask of 0 selects byte 0, which is always
    // nonzero, and so does a null pointer.
    static size_t slot(const void *pointer, uintptr_t mask) noexcept {
        return reinterpret_cast<uintptr_t>(pointer) >> 4 & mask;
    }
    static constexpr uintptr_t kMask = kFilterBytes - 1;

    // Read by the fast paths.
    static uint8_t filter[kFilterBytes];

    // Watches `pointer`. False if there is no memory.
    bool add(const void *pointer) noexcept;

    // Whether `pointer` was watched; it no longer is.
    bool remove(const void *pointer) noexcept;

    // Makes the filter match [begin, end) permanently, without storing blocks.
    static void guard(const void *begin, const void *end) noexcept;

    [[nodiscard]] size_t size() const noexcept { return __atomic_load_n(&live_, __ATOMIC_RELAXED); }

    // Clears the list in the child of a fork: the blocks are its parent's samples.
    void forget() noexcept;

  private:
    struct Table {
        size_t capacity;
        uintptr_t entries[1];
    };
    static constexpr uintptr_t kTombstone = 1; // a removed entry; no block is at address 1

    static size_t first_entry(const Table *table, uintptr_t address) noexcept;
    bool grow() noexcept;

    Table *table_ = nullptr;
    size_t live_ = 0;
    size_t filled_ = 0; // entries that are not empty, tombstones included
    FutexLock lock_;
};

} // namespace reap::preload
