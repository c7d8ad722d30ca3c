// The memory of the process whose heaps are walked. The preload has this process's (preload/resident/
// own_memory.cpp), and the reader another one's (native/glibc/other_memory.cpp).
#pragma once

#include <cstddef>
#include <cstdint>

namespace reap::glibc {

constexpr uint64_t page = 4096;

// Copies bytes. False if a page is not mapped or, of another process, not resident.
bool read_memory(uint64_t address, void *to, size_t bytes) noexcept;

// Sets the lowest bit of a byte for each resident page from the page `begin` on. False if one is not mapped,
// where that is told apart.
bool find_resident(uint64_t begin, uint64_t pages, unsigned char *there) noexcept;

// The current program break; 0 if unknown.
uint64_t current_break() noexcept;

} // namespace reap::glibc
