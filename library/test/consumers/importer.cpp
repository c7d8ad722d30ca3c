// What a program does that imports the library and includes nothing of it.

#include <memory_resource>
#include <string>
#include <vector>

import reap;

int main() {
    reap::Region region(reap::RegionOptions{.limit = 1U << 20U});
    reap::PmrResource resource{region};
    const std::pmr::string words(100, 'x', &resource);
    std::vector<int, reap::StlAllocator<int>> numbers(region);
    numbers.assign(1000, 7);
    long *const memory = reap::allocate<long>(region, 10);
    reap::deallocate<long>(region, memory, 10);
    const auto mark = region.mark();
    const bool good = region.owns(words.data()) && region.owns(numbers.data()) && region.rewind(mark) &&
                      reap::allocate_at_least(resource, 33).size >= 33;
    return good ? 0 : 1;
}
