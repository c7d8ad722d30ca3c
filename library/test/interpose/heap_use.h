#pragma once

// How the tests of a process's heap use it.

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <random>
#include <vector>

#include "reap/interpose/heap.h"

inline constexpr std::size_t megabyte = std::size_t{1} << 20;

/// Memory that this process really has, in bytes.
inline std::size_t resident() {
    std::ifstream file("/proc/self/statm");
    std::size_t pages = 0;
    file >> pages >> pages;
    return pages * reap::page_size();
}

inline void sign(void *object, std::size_t size) { std::memset(object, static_cast<int>(size % 251), size); }
inline bool is_signed(const void *object, std::size_t size) {
    const auto *const bytes = static_cast<const unsigned char *>(object);
    return std::all_of(bytes, bytes + size, [size](unsigned char byte) { return byte == size % 251; });
}

/// What most programs ask for, and now and then something large.
class Sizes {
  public:
    explicit Sizes(unsigned seed) : random_(seed) {}
    std::size_t next() {
        const auto dice = random_();
        if (dice % 4096 == 0) return 1 + random_() % (2 * megabyte);
        if (dice % 64 == 0) return 1 + random_() % 40000;
        return 1 + random_() % 300;
    }
    std::size_t below(std::size_t limit) { return random_() % limit; }

  private:
    std::mt19937 random_;
};

/// Objects of that size, each with something in all of it.
inline std::vector<void *> signed_objects(std::size_t count, std::size_t size) {
    std::vector<void *> objects(count);
    for (void *&object : objects) {
        object = reap::interpose::Heap::allocate(size);
        sign(object, size);
    }
    return objects;
}
