// The library as a module: `import reap;` instead of its includes. It exports what the headers declare for
// users, and compiles nothing of its own, so importers and includers can be linked together.
//
// Not in it: the C face, which is not C++, and macros: REAP_CHECKED and the like are set when the module is
// compiled.
module;

#include "reap/core/failure.h"
#include "reap/core/misuse.h"
#include "reap/core/mode.h"
#include "reap/core/size.h"
#include "reap/core/source.h"
#include "reap/core/typed.h"
#include "reap/face/allocator.h"
#include "reap/face/json.h"
#include "reap/face/pmr.h"
#include "reap/face/unique.h"
#include "reap/layer/count.h"
#include "reap/layer/fallback.h"
#include "reap/layer/fixed_block.h"
#include "reap/layer/locked.h"
#include "reap/layer/mempool.h"
#include "reap/layer/obstack.h"
#include "reap/layer/per_class.h"
#include "reap/layer/per_thread.h"
#include "reap/layer/per_thread_reap.h"
#include "reap/layer/reap.h"
#include "reap/layer/region.h"
#include "reap/layer/segregate.h"
#include "reap/layer/size_class_allocator.h"
#include "reap/layer/stack_like.h"
#include "reap/layer/trace.h"
#include "reap/source/arena.h"
#include "reap/source/buffer.h"
#include "reap/source/cached_pages.h"
#include "reap/source/cached_superblocks.h"
#include "reap/source/chunk_cache.h"
#include "reap/source/huge_pages.h"
#include "reap/source/limit.h"
#include "reap/source/malloc.h"
#include "reap/source/node_pages.h"
#include "reap/source/page_fallback.h"
#include "reap/source/populated_pages.h"
#include "reap/source/superblocks.h"
#include "reap/source/system_pages.h"
#include "reap/source/upstream.h"

export module reap;

export namespace reap {

// core
using reap::allocate;
using reap::Allocation;
using reap::AtLeastSource;
using reap::checked;
using reap::deallocate;
using reap::max_object;
using reap::Misuse;
using reap::MisuseHandler;
using reap::MisuseReport;
using reap::Ref;
using reap::set_misuse_handler;
using reap::Shared;
using reap::Source;
using reap::ThrowingSource;
using reap::to_string;
using reap::try_allocate;

// source
using reap::Arena;
using reap::ArenaOptions;
using reap::ArenaStatistics;
using reap::AtomicQuota;
using reap::Buffer;
using reap::CachedPages;
using reap::CachedSuperblocks;
using reap::ChunkCache;
using reap::HugePages;
using reap::HugePageStatus;
using reap::Limit;
using reap::Malloc;
using reap::NodePages;
using reap::PageFallback;
using reap::PageFallbackHandler;
using reap::PopulatedPages;
using reap::Quota;
using reap::SharedSuperblocks;
using reap::Superblocks;
using reap::SystemPages;
using reap::Upstream;

// layer
using reap::ClassList;
using reap::Count;
using reap::CountStatistics;
using reap::Fallback;
using reap::FixedBlock;
using reap::FixedBlockOptions;
using reap::FixedBlockStatistics;
using reap::Freelist;
using reap::keep_all;
using reap::keep_none;
using reap::LastEvents;
using reap::Locked;
using reap::Mempool;
using reap::MempoolStatistics;
using reap::Obstack;
using reap::ObstackOptions;
using reap::ObstackStatistics;
using reap::OwnedReap;
using reap::PerClass;
using reap::PerThread;
using reap::PerThreadReap;
using reap::Reap;
using reap::ReapOptions;
using reap::ReapStatistics;
using reap::Region;
using reap::RegionOptions;
using reap::RegionStatistics;
using reap::Segregate;
using reap::SizeClassAllocator;
using reap::SizeClassStatistics;
using reap::SizedReap;
using reap::Sizes;
using reap::StackLike;
using reap::StackLikeOptions;
using reap::StackLikeStatistics;
using reap::Trace;
using reap::TraceEvent;

// face
using reap::allocate_at_least;
using reap::AllocationResult;
using reap::Deleter;
using reap::make_unique;
using reap::PmrResource;
using reap::RegionAllocator;
using reap::StlAllocator;
using reap::to_json;
using reap::UniquePtr;

} // namespace reap
