// What a program outside of this tree does with the headers.

#include <memory_resource>
#include <string>
#include <vector>

#include <reap/face/allocator.h>
#include <reap/face/pmr.h>
#include <reap/layer/region.h>

int main() {
    reap::Region region;
    std::vector<int, reap::StlAllocator<int>> numbers(region);
    numbers.assign(1000, 7);

    reap::PmrResource resource{region};
    const std::pmr::string words(100, 'x', &resource);

    return region.owns(numbers.data()) && region.owns(words.data()) ? 0 : 1;
}
