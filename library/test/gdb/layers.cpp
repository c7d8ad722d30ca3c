// Layers in all the states that gdb is to show, with what they say of themselves beside them. check.py stops
// in stop() and compares.

#include <cstddef>

#include "reap/layer/fixed_block.h"
#include "reap/layer/mempool.h"
#include "reap/layer/obstack.h"
#include "reap/layer/reap.h"
#include "reap/layer/region.h"
#include "reap/layer/size_class_allocator.h"

namespace {

struct Point {
    int x;
    int y;
};
struct alignas(32) Wide {
    char letter;
};
static_assert(sizeof(Wide) == 32);

[[gnu::noinline]] void stop() { asm volatile("" ::: "memory"); }

template <class Layer>
void fill(Layer &layer, std::size_t count, std::size_t size) {
    for (std::size_t at = 0; at < count; ++at) static_cast<void>(layer.allocate(size));
}

} // namespace

int main() {
    const reap::Region<> region_empty;
    reap::Region<> region_used;
    fill(region_used, 300, 100);
    fill(region_used, 2, 400000);
    reap::Region<> region_kept;
    fill(region_kept, 3000, 100);
    region_kept.reset(20000);
    auto &region_nested = region_used.nest();
    fill(region_nested, 10, 1000);
    [[maybe_unused]] const auto said_region_empty = region_empty.statistics();
    [[maybe_unused]] const auto said_region_used = region_used.statistics();
    [[maybe_unused]] const auto said_region_kept = region_kept.statistics();
    [[maybe_unused]] const auto said_region_nested = region_nested.statistics();

    reap::Obstack<> obstack_used;
    fill(obstack_used, 200, 100);
    reap::Obstack<> obstack_growing;
    fill(obstack_growing, 10, 100);
    obstack_growing.grow("some letters", 12);
    [[maybe_unused]] const auto said_obstack_used = obstack_used.statistics();
    [[maybe_unused]] const auto said_obstack_growing = obstack_growing.statistics();

    const reap::Reap<> reap_empty;
    reap::Reap<> reap_used;
    fill(reap_used, 500, 100);
    reap::Reap<> reap_freed;
    void *objects[2000];
    for (void *&object : objects) object = reap_freed.allocate(72);
    for (std::size_t at = 0; at < 2000; at += 3) reap_freed.deallocate(objects[at]);
    fill(reap_freed, 3, 600000);
    reap::Reap<> reap_kept;
    fill(reap_kept, 5000, 50);
    reap_kept.reset();
    reap::SizedReap<> reap_sized;
    fill(reap_sized, 700, 90);
    [[maybe_unused]] const auto said_reap_empty = reap_empty.statistics();
    [[maybe_unused]] const auto said_reap_used = reap_used.statistics();
    [[maybe_unused]] const auto said_reap_freed = reap_freed.statistics();
    [[maybe_unused]] const auto said_reap_kept = reap_kept.statistics();
    [[maybe_unused]] const auto said_reap_sized = reap_sized.statistics();

    const reap::FixedBlock<> block_empty(48);
    reap::FixedBlock<> block_used(48);
    void *blocks[1000];
    for (void *&block : blocks) block = block_used.allocate();
    for (std::size_t at = 0; at < 1000; at += 4) block_used.deallocate(blocks[at]);
    reap::FixedBlock<> block_kept(64);
    for (std::size_t at = 0; at < 500; ++at) static_cast<void>(block_kept.allocate());
    block_kept.reset();
    [[maybe_unused]] const auto said_block_empty = block_empty.statistics();
    [[maybe_unused]] const auto said_block_used = block_used.statistics();
    [[maybe_unused]] const auto said_block_kept = block_kept.statistics();

    reap::SizeClassAllocator<> classes;
    fill(classes, 10, 20);
    fill(classes, 100, 200);
    [[maybe_unused]] const auto said_classes = classes.statistics();

    reap::Mempool<Point> mempool_points;
    Point *points[500];
    for (int at = 0; at < 500; ++at) points[at] = mempool_points.create(at, -at);
    for (int at = 0; at < 500; ++at) {
        if (at % 100 != 7) mempool_points.destroy(points[at]);
    }
    reap::Mempool<Wide> mempool_wide(40);
    for (char letter = 'a'; letter <= 'z'; ++letter) static_cast<void>(mempool_wide.create(letter));
    reap::Mempool<Point> mempool_kept;
    static_cast<void>(mempool_kept.create(1, 2));
    mempool_kept.clear();
    [[maybe_unused]] const auto said_mempool_points = mempool_points.statistics();
    [[maybe_unused]] const auto said_mempool_wide = mempool_wide.statistics();
    [[maybe_unused]] const auto said_mempool_kept = mempool_kept.statistics();

    stop();
    return 0;
}
