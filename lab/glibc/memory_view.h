// Reads the memory of the process that is looked at through the kernel, so that memory that is unmapped
// meanwhile causes an error instead of a crash, and so that reading makes nothing resident.
#pragma once

#include <cstdint>

#include "walked_memory.h"

namespace reap::glibc {

constexpr uint64_t round_up(uint64_t address) noexcept { return (address + page - 1) & ~(page - 1); }
constexpr uint64_t round_down(uint64_t address) noexcept { return address & ~(page - 1); }

// Words, read `pages` pages at a time at most.
template <uint64_t pages>
class Window {
  public:
    void forget() noexcept { begin_ = end_ = 0; }

    // The word at an address that is a multiple of 8, in a page that is resident or, of this process, swapped
    // out.
    bool word(uint64_t address, uint64_t &value) noexcept {
        if ((address < begin_ || address >= end_) && !move_to(round_down(address))) return false;
        __builtin_memcpy(&value, text_ + (address - begin_), sizeof value);
        return true;
    }

  private:
    bool move_to(uint64_t wanted) noexcept;

    uint64_t begin_ = 0;
    uint64_t end_ = 0;
    alignas(8) unsigned char text_[pages * page] = {};
};

extern template class Window<1>;
extern template class Window<16>;

// Tells which pages of a mapping are resident. Asks the kernel for 64 MiB at a time and keeps the answer.
class Residency {
  public:
    // Forgets what it knows; from now on the mapping is one that ends at `end`.
    void restart(uint64_t end) noexcept {
        limit_ = end;
        begin_ = end_ = 0;
    }

    // Bytes of the pages that overlap [begin, end) and are resident.
    uint64_t bytes(uint64_t begin, uint64_t end) noexcept;

    // The first resident page at `from` or behind it, a page's address; the mapping's end if there is none,
    // if it is gone, or once `ending` is not 0. About 10 us for each 64 MiB that nobody touched.
    uint64_t next(uint64_t from, const int &ending) noexcept;

  private:
    static constexpr uint64_t pages = 16384;

    bool move_to(uint64_t wanted) noexcept;

    uint64_t limit_ = 0;
    uint64_t begin_ = 0;
    uint64_t end_ = 0;
    unsigned char resident_[pages] = {};
};

} // namespace reap::glibc
