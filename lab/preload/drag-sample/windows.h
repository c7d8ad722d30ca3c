// Memory in which it can be seen whether an object was used: a window of shared memory for each.
#pragma once

#include <cstddef>
#include <cstdint>

namespace reap::drag {

// One mapping of a memory file, cut into slots. Taking a page out of the page table (MADV_DONTNEED) loses
// nothing, since what is in it stays in the file; whoever uses it next, the kernel included, brings it back,
// and bit 63 of /proc/self/pagemap says so. A slot is 64 KB because a fault may bring the pages around it as
// well (fault-around), and those must not be a neighbour's.
//
// Not thread-safe; needs no privilege; allocates nothing with malloc. No file descriptor is kept: a program
// that closes all of them must not make us work on a file of its own.
class Windows {
  public:
    static constexpr size_t kSlot = size_t{64} << 10;
    static constexpr size_t kMostSlots = size_t{1}
                                         << 20; // 64 GB of addresses, of which only objects take memory

    // Reserves the addresses; false where the machine refuses.
    bool reserve() noexcept;

    [[nodiscard]] bool owns(const void *pointer) const noexcept {
        return reinterpret_cast<uintptr_t>(pointer) - base_ < size_;
    }
    [[nodiscard]] uint32_t slot_of(const void *pointer) const noexcept {
        return static_cast<uint32_t>((reinterpret_cast<uintptr_t>(pointer) - base_) / kSlot);
    }
    [[nodiscard]] void *address(uint32_t slot) const noexcept {
        return reinterpret_cast<void *>(base_ + size_t{slot} * kSlot);
    }

    // Slots for `bytes`, zeroed; the first one's number, or kNone.
    uint32_t take(size_t bytes) noexcept;
    // The memory goes back to the system, the addresses are used again.
    void give(uint32_t slot, size_t bytes) noexcept;

    // Takes the pages out of the page table.
    void arm(uint32_t slot, size_t bytes) const noexcept;

    enum class Seen : uint8_t { Unused, Used, Unknown };
    // Whether any of them was used since.
    [[nodiscard]] Seen look(uint32_t slot, size_t bytes) const noexcept;

    // In the child of a fork: the same contents in memory of its own. `each` calls back with (slot, bytes) of
    // all that is taken. False where there is no memory: the child then shares with its parent.
    template <class Each>
    bool separate(Each each) noexcept {
        char *fresh = map_another();
        if (fresh == nullptr) return false;
        each([this, fresh](uint32_t slot, size_t bytes) {
            __builtin_memcpy(fresh + size_t{slot} * kSlot, address(slot), bytes);
        });
        return move_here(fresh);
    }

    static constexpr uint32_t kNone = UINT32_MAX;

  private:
    char *map_another() const noexcept;
    bool move_here(char *fresh) const noexcept;

    uintptr_t base_ = 0;
    size_t size_ = 0;
    uint32_t fresh_ = 0; // slots never taken begin here
    // Free runs of slots by their length's logarithm: each a list through next_.
    static constexpr unsigned kLengths = 21;
    uint32_t free_[kLengths] = {};
    uint32_t *next_ = nullptr; // slot + 1, 0 ends
};

} // namespace reap::drag
