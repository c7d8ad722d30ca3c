#pragma once

// What the library Reap::prebuilt has of regions, as layer/reap/prebuilt.h of reaps. Part of layer/region.h.

#include "reap/layer/region.h"

#if !defined(REAP_EXTERN)
#define REAP_EXTERN extern
#endif

#if REAP_PREBUILT
namespace reap::inline REAP_MODE {

REAP_EXTERN template class ChunkLists<SystemPages>;
REAP_EXTERN template class ThreadChunks<SystemPages>;

REAP_EXTERN template class Region<>;
REAP_EXTERN template Region<>::Bumped Region<>::grow<Failure::throws, true>(std::size_t, std::size_t);
REAP_EXTERN template Region<>::Bumped Region<>::grow<Failure::returns_null, true>(std::size_t, std::size_t);
REAP_EXTERN template void *Region<>::guarded<Failure::throws>(std::size_t, std::size_t);
REAP_EXTERN template void *Region<>::guarded<Failure::returns_null>(std::size_t, std::size_t);

} // namespace reap::inline REAP_MODE
#endif
