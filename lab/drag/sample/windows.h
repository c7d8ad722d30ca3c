// Memory in which accesses to an object can be detected: a window of shared memory for each.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rounds.h"

namespace reap::drag {

inline constexpr size_t kPage = 4096;

// /proc/self/pagemap, open from its first use to destruction only: a program that closes all descriptors must
// not make us read one of its files.
class Pagemap {
  public:
    Pagemap() noexcept = default;
    ~Pagemap();
    Pagemap(const Pagemap &) = delete;
    Pagemap &operator=(const Pagemap &) = delete;

    static constexpr size_t kMaxPages = 512; // per read

    // Stores whether each of `pages` pages from `begin` on is in the page table; false if that cannot be
    // read.
    bool read(const void *begin, size_t pages, bool *used) noexcept;

  private:
    int file_ = -1; // until the first read
};

// One mapping of a memfd, divided into slots. Removing a page from the page table (MADV_DONTNEED) loses no
// data, since it stays in the file; the next access, also by the kernel, maps it again, which
// /proc/self/pagemap shows. A slot is 64 KB because a fault may also map the surrounding pages
// (fault-around), which must not belong to a neighbour.
//
// An object of at most a slot is in a chunk of slots of one class, which are checked together; a larger one
// has a run of slots.
//
// Not thread-safe; requires no privilege; does not call malloc.
class Windows {
  public:
    static constexpr size_t kSlot = size_t{64} << 10;
    static constexpr size_t kMaxSlots = size_t{1}
                                        << 20;       // 64 GB of addresses, of which only objects take memory
    static constexpr uint32_t kChunk = 32;           // slots
    static constexpr uint32_t kRuns = kMaxSlots / 2; // from here on
    static constexpr uint32_t kNone = UINT32_MAX;

    // Reserves the addresses; false on failure.
    bool reserve() noexcept;

    [[nodiscard]] bool owns(const void *pointer) const noexcept {
        const uintptr_t at = reinterpret_cast<uintptr_t>(pointer) - base_;
        return at < size_ && (at < slots_size_ || at >= kRuns * kSlot);
    }
    [[nodiscard]] uint32_t slot_of(const void *pointer) const noexcept {
        return static_cast<uint32_t>((reinterpret_cast<uintptr_t>(pointer) - base_) / kSlot);
    }
    [[nodiscard]] void *address(uint32_t slot) const noexcept {
        return reinterpret_cast<void *>(base_ + size_t{slot} * kSlot);
    }

    // Takes zeroed slots for `bytes`; returns the number of the first, or kNone. The class applies to single
    // slots only.
    uint32_t take(size_t bytes, uint32_t kind) noexcept;
    // Returns memory beyond the first page to the OS; the addresses are reused.
    void release(uint32_t slot, size_t bytes) noexcept;

    // Removes the pages from the page table, so that the next access is detected.
    void arm(uint32_t slot, size_t bytes) const noexcept;

    // The program has protected these pages of an object: applies until its release, also in a child's
    // windows.
    void protect(const void *begin, size_t bytes, int protection) noexcept;

    // Unmaps the addresses that were never used; no new slots are available afterwards.
    void shrink() noexcept;

    enum class Seen : uint8_t { Unused, Used, Unknown };
    // Whether any of the object's pages was accessed since it was armed.
    [[nodiscard]] Seen check(Pagemap &map, uint32_t slot, size_t bytes) const noexcept;

    // Calls `each` with the first slot of each chunk of this class.
    template <class Each>
    void each_chunk(uint32_t kind, Each each) const noexcept {
        for (uint32_t done = 0; done < begun_[kind]; done += kChunk) each(slot_at(kind, done));
    }

    // Calls `each` with all slots that were ever taken.
    template <class Each>
    void each_slot(Each each) const noexcept {
        for (uint32_t kind = 0; kind < Rounds::kClasses; ++kind) {
            for (uint32_t number = 0; number < begun_[kind]; ++number) each(slot_at(kind, number));
        }
        for (uint32_t slot = kRuns; slot < runs_end_; ++slot) each(slot);
    }

    // For a fork: windows for the child with the same contents. `each` calls back with (slot, bytes) of all
    // taken slots. Null if there is no memory.
    template <class Each>
    char *copy(Each each) const noexcept {
        char *fresh = size_ != 0 && !shrunk_ ? map_another() : nullptr;
        if (fresh == nullptr) return nullptr;
        each([this, fresh](uint32_t slot, size_t bytes) {
            copy_out(fresh + size_t{slot} * kSlot, slot, bytes);
        });
        return fresh;
    }
    // In the child: makes these its windows.
    bool install(char *copied) const noexcept;
    // In the parent: unmaps them.
    void drop(char *copied) const noexcept;

    // The same if no windows can be made, as under a file size limit: the contents in private memory.
    struct Packed {
        char *begin = nullptr;
        size_t size = 0;
    };
    template <class Each>
    Packed pack(Each each) const noexcept {
        Packed packed;
        each([&packed](uint32_t, size_t bytes) { packed.size += whole_pages(bytes); });
        packed.begin = packed.size != 0 ? map_packed(packed.size) : nullptr;
        if (packed.begin == nullptr) return {};
        each([this, at = packed.begin](uint32_t slot, size_t bytes) mutable {
            copy_out(at, slot, bytes);
            at += whole_pages(bytes);
        });
        return packed;
    }
    // In the child: moves the contents at offset `at` to its slot; returns how far to advance `at`.
    [[nodiscard]] size_t unpack(Packed packed, size_t at, uint32_t slot, size_t bytes) noexcept;
    static void drop(Packed packed) noexcept;

  private:
    static size_t whole_pages(size_t bytes) noexcept { return (bytes + kPage - 1) & ~(kPage - 1); }
    static char *map_packed(size_t bytes) noexcept;
    void copy_out(char *to, uint32_t slot, size_t bytes) const noexcept;
    void unprotect(uint32_t slot, size_t bytes) noexcept;
    char *map_another() const noexcept;
    static uint32_t slot_at(uint32_t kind, uint32_t number) noexcept {
        return (number / kChunk * Rounds::kClasses + kind) * kChunk + number % kChunk;
    }

    uintptr_t base_ = 0;
    size_t size_ = 0;
    size_t slots_size_ = kRuns * kSlot; // of the part that runs are not in
    bool shrunk_ = false;
    uint32_t begun_[Rounds::kClasses] = {}; // slots of each class that were ever taken
    uint32_t runs_end_ = kRuns;
    // Free slots by class, and free runs by the logarithm of their length: linked lists through next_.
    static constexpr unsigned kLengths = 20;
    uint32_t free_[Rounds::kClasses] = {};
    uint32_t free_runs_[kLengths] = {};
    uint32_t *next_ = nullptr; // slot + 1, 0 ends
    // Pages that the program has protected. Beyond the maximum, a child's copy is not protected.
    struct Protected {
        char *begin;
        size_t bytes;
        int protection;
    };
    static constexpr uint32_t kMaxProtected = 512;
    Protected protected_[kMaxProtected] = {};
    uint32_t protections_ = 0;
    bool ever_protected_ = false;
};

} // namespace reap::drag
