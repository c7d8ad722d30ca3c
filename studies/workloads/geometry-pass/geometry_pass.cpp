// Builds tubes along field lines (common/programs/tubes.h). It stands for Blender's geometry_nodes of ISMM
// 2026: a pass allocates arrays, and drops all of them at its end: a linear allocator, which is a region that
// is reset.
//
// In the naive variant each object of the region is a malloc of its own (threshold of large objects 0, Table
// 4 of ISMM 2026). Scale: passes.

#include <reap/layer/region.h>
#include <reap/source/malloc.h>

#include "common/programs/tubes.h"

int main(int count, char **words) {
    workload::Options options{.scale = 3000};
    if (!workload::read(count, words, options)) return 2;
    // Chunks come from malloc, as Blender's do, so that what serves malloc serves both variants.
    reap::Region<reap::Malloc> memory(options.naive ? reap::RegionOptions{.large_object = 0}
                                                    : reap::RegionOptions{});
    tubes::build(memory, options.scale);
}
