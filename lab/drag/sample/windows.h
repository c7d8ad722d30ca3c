// Memory in which it can be seen whether an object was used: a window of shared memory for each.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rounds.h"

namespace reap::drag {

inline constexpr size_t kPage = 4096;

// /proc/self/pagemap, open from its first use for as long as this lives: a program that closes all of its
// files must not make us read one of its own.
class Pagemap {
  public:
    Pagemap() noexcept = default;
    ~Pagemap();
    Pagemap(const Pagemap &) = delete;
    Pagemap &operator=(const Pagemap &) = delete;

    static constexpr size_t kMost = 512; // pages at once

    // Whether each of `pages` pages from `begin` on is in the page table; false where that cannot be known.
    bool read(const void *begin, size_t pages, bool *used) noexcept;

  private:
    int file_ = -1; // until the first is asked for
};

// One mapping of a memory file, cut into slots. Taking a page out of the page table (MADV_DONTNEED) loses
// nothing, since what is in it stays in the file; whoever uses it next, the kernel included, brings it back,
// and /proc/self/pagemap says so. A slot is 64 KB because a fault may bring the pages around it as well
// (fault-around), and those must not be a neighbour's.
//
// An object of a slot or less is in a chunk of slots that all have the same class, so that they are looked at
// together; a larger one has a run of slots.
//
// Not thread-safe; needs no privilege; allocates nothing with malloc.
class Windows {
  public:
    static constexpr size_t kSlot = size_t{64} << 10;
    static constexpr size_t kMostSlots = size_t{1}
                                         << 20;       // 64 GB of addresses, of which only objects take memory
    static constexpr uint32_t kChunk = 32;            // slots
    static constexpr uint32_t kRuns = kMostSlots / 2; // from here on
    static constexpr uint32_t kNone = UINT32_MAX;

    // Reserves the addresses; false where the machine refuses.
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

    // Slots for `bytes`, zeroed; the first one's number, or kNone. The class counts for one slot alone.
    uint32_t take(size_t bytes, uint32_t kind) noexcept;
    // Memory beyond a page goes back to the system, the addresses are used again.
    void give(uint32_t slot, size_t bytes) noexcept;

    // Takes the pages out of the page table.
    void arm(uint32_t slot, size_t bytes) const noexcept;

    // The program has protected these pages of an object: until it is given back, also in a child's windows.
    void protect(const void *begin, size_t bytes, int protection) noexcept;

    // Gives the addresses back that were never used; there are no more then.
    void shrink() noexcept;

    enum class Seen : uint8_t { Unused, Used, Unknown };
    // Whether any of the object's pages was used since.
    [[nodiscard]] Seen look(Pagemap &map, uint32_t slot, size_t bytes) const noexcept;

    // Calls back with the first slot of each chunk of this class.
    template <class Each>
    void each_chunk(uint32_t kind, Each each) const noexcept {
        for (uint32_t done = 0; done < begun_[kind]; done += kChunk) each(slot_at(kind, done));
    }

    // The numbers of all slots that have been taken at some time.
    template <class Each>
    void each_slot(Each each) const noexcept {
        for (uint32_t kind = 0; kind < Rounds::kClasses; ++kind) {
            for (uint32_t number = 0; number < begun_[kind]; ++number) each(slot_at(kind, number));
        }
        for (uint32_t slot = kRuns; slot < runs_end_; ++slot) each(slot);
    }

    // For a fork: windows for the child, with the same in them. `each` calls back with (slot, bytes) of all
    // that is taken. Null where there is no memory.
    template <class Each>
    char *copy(Each each) const noexcept {
        char *fresh = size_ != 0 && !shrunk_ ? map_another() : nullptr;
        if (fresh == nullptr) return nullptr;
        each([this, fresh](uint32_t slot, size_t bytes) {
            copy_out(fresh + size_t{slot} * kSlot, slot, bytes);
        });
        return fresh;
    }
    // In the child: these are its windows now.
    bool move_here(char *copied) const noexcept;
    // In the parent: it does not need them.
    void drop(char *copied) const noexcept;

    // The same where windows are not to be had, as by a limit of files: what is taken, in private memory.
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
    // In the child: puts what begins at `at` to its slot; returns by how much `at` goes on.
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
    uint32_t begun_[Rounds::kClasses] = {}; // slots of each class that have been taken at some time
    uint32_t runs_end_ = kRuns;
    // Free slots by class, and free runs by their length's logarithm: each a list through next_.
    static constexpr unsigned kLengths = 20;
    uint32_t free_[Rounds::kClasses] = {};
    uint32_t free_runs_[kLengths] = {};
    uint32_t *next_ = nullptr; // slot + 1, 0 ends
    // Pages that the program has protected. Of more than these a child's copy is not protected.
    struct Protected {
        char *begin;
        size_t bytes;
        int protection;
    };
    static constexpr uint32_t kMostProtected = 512;
    Protected protected_[kMostProtected] = {};
    uint32_t protections_ = 0;
    bool ever_protected_ = false;
};

} // namespace reap::drag
