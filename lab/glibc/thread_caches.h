// Finds glibc's thread caches (`struct tcache_perthread_struct`) among the blocks of its heaps.
//
// Layout: malloc/malloc.c of glibc, "Thread caching": a count and a list of blocks for each of 64 sizes. Each
// cache is a block of the arena that its thread used first.
#pragma once

#include <cstdint>

namespace reap::glibc {

class ThreadCaches {
  public:
    constexpr ThreadCaches() noexcept = default;
    // For glibc 2.`minor`. Known are 26 to 41.
    explicit ThreadCaches(unsigned minor) noexcept;

    [[nodiscard]] bool known() const noexcept { return count_bytes_ != 0; }

    void restart() noexcept { caches_ = bytes_ = 0; }

    // Counts the block in the chunk if it is a cache with blocks. Whether it is one follows from its size and
    // its lists: a list is empty if its count is 0, else its first block has the list's size. Costs a system
    // call for chunks of the size of a cache, and two more for each list of one.
    void look_at(uint64_t chunk, uint64_t size) noexcept {
        if (size == chunk_bytes_) look_into(chunk);
    }

    [[nodiscard]] uint64_t caches() const noexcept { return caches_; }
    [[nodiscard]] uint64_t bytes() const noexcept {
        return bytes_;
    } // of the blocks in them, headers included

  private:
    void look_into(uint64_t chunk) noexcept;

    uint64_t count_bytes_ = 0; // of a count; 0: the layout is not known
    uint64_t chunk_bytes_ = 0;
    uint64_t caches_ = 0;
    uint64_t bytes_ = 0;
};

} // namespace reap::glibc
