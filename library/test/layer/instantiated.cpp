// Every member of every template compiles, whether a test uses it or not: explicit instantiations of the
// layers and sources with their defaults, and with the choices that take other paths. Nothing runs.
#include "reap/layer/best_fit.h"
#include "reap/layer/count.h"
#include "reap/layer/fallback.h"
#include "reap/layer/fixed_block.h"
#include "reap/layer/locked.h"
#include "reap/layer/mempool.h"
#include "reap/layer/obstack.h"
#include "reap/layer/owned_reap.h"
#include "reap/layer/per_class.h"
#include "reap/layer/per_thread.h"
#include "reap/layer/per_thread_reap.h"
#include "reap/layer/quicklists.h"
#include "reap/layer/reap.h"
#include "reap/layer/region.h"
#include "reap/layer/region_emulator.h"
#include "reap/layer/segregate.h"
#include "reap/layer/size_class_allocator.h"
#include "reap/layer/stack_like.h"
#include "reap/layer/trace.h"
#include "reap/source/arena.h"
#include "reap/source/chunk_cache.h"
#include "reap/source/limit.h"
#include "reap/source/malloc.h"
#include "reap/source/node_pages.h"
#include "reap/source/populated_pages.h"
#include "reap/source/superblocks.h"

namespace reap::inline REAP_MODE {

struct Node {
    int values[6];
};

template class BestFit<>;
template class Count<>;
template class Fallback<FixedBlock<>, CachedPages>;
template class FixedBlock<>;
template class FixedBlock<Malloc>;
template class Locked<FixedBlock<>>;
template class Mempool<Node>;
template class Obstack<>;
template class OwnedReap<>;
template class PerClass<Node>;
template class PerThread<FixedBlock<>>;
template class PerThread<Reap<>>;
template class PerThread<Region<>>;
template class PerThread<SizeClassAllocator<>>;
template class Quicklists<BestFit<>>;
template class Reap<>;
template class Reap<CachedSuperblocks, 16>;
template class Reap<CachedSuperblocks, 16, usual_window, Sizes::told>;
template class Reap<SystemPages>;
template class Region<>;
template class Region<Malloc, 8>;
template class RegionEmulator<>;
template class Segregate<256, FixedBlock<>, CachedPages>;
template class SizeClassAllocator<>;
template class StackLike<>;
template class Trace<CachedPages>;

template class Arena<>;
template class ChunkCache<>;
template class Limit<>;
template class NodePages<>;
template class PopulatedPages<>;
template class Superblocks<>;

} // namespace reap::inline REAP_MODE
