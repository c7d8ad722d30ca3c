// The library as a module: `import reap;` instead of its includes. It exports what the headers declare for users, and
// compiles nothing of its own, so importers and includers can be linked together.
//
// Not in it: the C face, which is not C++, and macros: REAP_CHECKED and the like are set when the module is compiled.
module;

#include "reap/core/failure.h"
#include "reap/core/misuse.h"
#include "reap/core/mode.h"
#include "reap/core/size.h"
#include "reap/core/source.h"
#include "reap/face/allocator.h"
#include "reap/face/pmr.h"
#include "reap/layer/region.h"
#include "reap/source/arena.h"
#include "reap/source/cached_pages.h"
#include "reap/source/chunk_cache.h"
#include "reap/source/system_pages.h"

export module reap;

export namespace reap {

// core
using reap::Allocation;
using reap::AtLeastSource;
using reap::checked;
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

// source
using reap::Arena;
using reap::CachedPages;
using reap::ChunkCache;
using reap::SystemPages;

// layer
using reap::keep_all;
using reap::keep_none;
using reap::Region;
using reap::RegionOptions;
using reap::RegionStatistics;

// face
using reap::allocate_at_least;
using reap::AllocationResult;
using reap::PmrResource;
using reap::StlAllocator;

} // namespace reap
