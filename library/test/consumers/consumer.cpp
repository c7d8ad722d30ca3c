// What a program outside of this tree does with the library: the layers, two faces, and libreap.

#include <cstring>
#include <memory_resource>
#include <string>
#include <vector>

#include <reap/face/allocator.h>
#include <reap/face/c.h>
#include <reap/face/pmr.h>
#include <reap/layer/region.h>

int main() {
    reap::Region region;
    std::vector<int, reap::StlAllocator<int>> numbers(region);
    numbers.assign(1000, 7);

    reap::PmrResource resource{region};
    const std::pmr::string words(100, 'x', &resource);

    reap_region *const in_c = reap_region_create(nullptr);
    const bool good = region.owns(numbers.data()) && region.owns(words.data()) && !reap_is_checked() &&
                      std::strlen(reap_version()) > 0 && reap_region_allocate(in_c, 100) != nullptr;
    reap_region_destroy(in_c);
    return good ? 0 : 1;
}
