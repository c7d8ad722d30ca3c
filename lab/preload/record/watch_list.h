// The sampled blocks that are still in use, so that their free can be noticed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform.h"

namespace reap::preload {

// Before every free the filter is asked: one byte, a count of the watched blocks that fall on it. Blocks that
// lie together share the filter's cache lines. A false alarm costs a lookup in the table, without a lock.
class WatchList {
  public:
    static constexpr size_t kFilterBytes = 65536;

    // Where `pointer` falls in the filter, for a thread with this mask. A mask of 0 leads to byte 0, which
    // always raises the alarm, and so does a null pointer.
    static size_t slot(const void *pointer, uintptr_t mask) noexcept {
        return reinterpret_cast<uintptr_t>(pointer) >> 4 & mask;
    }
    static constexpr uintptr_t kMask = kFilterBytes - 1;

    // What the fast paths read.
    static uint8_t filter[kFilterBytes];

    // From now on `pointer` raises the alarm. False when there is no memory for it.
    bool add(const void *pointer) noexcept;

    // Whether `pointer` was watched; it no longer is.
    bool remove(const void *pointer) noexcept;

    // Raises the alarm for [begin, end) forever, without keeping the blocks.
    static void guard(const void *begin, const void *end) noexcept;

    [[nodiscard]] size_t size() const noexcept { return __atomic_load_n(&live_, __ATOMIC_RELAXED); }

    // The child of a fork watches nothing: the blocks are its parent's samples.
    void forget() noexcept;

  private:
    struct Table {
        size_t capacity;
        uintptr_t places[1];
    };
    static constexpr uintptr_t kGone = 1; // a place that held a block; no block lies at address 1

    static size_t first_place(const Table *table, uintptr_t address) noexcept;
    bool grow() noexcept;

    Table *table_ = nullptr;
    size_t live_ = 0;
    size_t filled_ = 0; // places that are not empty, gone ones included
    FutexLock lock_;
};

} // namespace reap::preload
