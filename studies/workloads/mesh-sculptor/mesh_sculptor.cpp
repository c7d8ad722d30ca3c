// Moves a brush over a mesh (common/programs/mesh.h). It stands for Blender's sculpt of ISMM 2026, whose
// vertices and faces are in mempools: freed individually, and iterated over while others are allocated and
// freed.
//
// The naive variant allocates each object by itself, and tracks the live ones in a hash set (Table 4 of ISMM
// 2026). Scale: steps of the brush.

#include <reap/layer/mempool.h>
#include <reap/source/malloc.h>

#include "common/programs/live_set.h"
#include "common/programs/mesh.h"

namespace {

// Chunks come from malloc, as Blender's do, so that what serves malloc serves both variants.
template <class T>
using Pool = reap::Mempool<T, reap::Malloc>;

} // namespace

int main(int count, char **words) {
    workload::Options options{.scale = 200};
    if (!workload::read(count, words, options)) return 2;
    options.naive ? mesh::sculpt<LiveSet>(options.scale) : mesh::sculpt<Pool>(options.scale);
}
