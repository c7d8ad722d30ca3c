// Address space that is reserved at once and made usable from its start on, in granules.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform.h"

namespace reap::preload {

inline constexpr unsigned kGranuleBits = 16;
inline constexpr size_t kGranule = size_t{1} << kGranuleBits;

class Region {
  public:
    // Reserves up to `bytes`, or a quarter as often as need be, and leaves most of a limit of address space
    // to the program. Takes no memory. Call it once.
    bool reserve(size_t bytes) noexcept;

    // Usable zeroed memory, a multiple of kGranule in size and alignment; null if the region or the machine
    // has no more. Takes a lock; thread-safe.
    void *take(size_t bytes) noexcept;

    [[nodiscard]] bool contains(const void *pointer) const noexcept {
        return reinterpret_cast<uintptr_t>(pointer) - base_ < size_;
    }
    [[nodiscard]] size_t granule_of(const void *pointer) const noexcept {
        return (reinterpret_cast<uintptr_t>(pointer) - base_) >> kGranuleBits;
    }
    [[nodiscard]] size_t size() const noexcept { return size_; }

    FutexLock &lock() noexcept { return lock_; }

  private:
    uintptr_t base_ = 0;
    size_t size_ = 0;
    size_t taken_ = 0;
    size_t usable_ = 0;
    FutexLock lock_;
};

} // namespace reap::preload
