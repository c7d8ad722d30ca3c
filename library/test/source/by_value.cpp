// Does not compile: a copy of this source would lose its count.

#include <cstddef>

#include "reap/layer/region.h"

struct Counting {
    void *try_allocate(std::size_t size, std::size_t alignment) noexcept {
        ++calls;
        return reap::SystemPages::try_allocate(size, alignment);
    }
    void deallocate(void *data, std::size_t size, std::size_t alignment) noexcept {
        reap::SystemPages::deallocate(data, size, alignment);
    }
    std::size_t calls = 0;
};

int main() {
    reap::Region<Counting> region;
    return region.allocate(100) == nullptr;
}
