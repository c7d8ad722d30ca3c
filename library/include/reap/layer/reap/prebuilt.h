#pragma once

// What the library Reap::prebuilt has of reaps: its users declare it, and library/src/prebuilt.cpp, with
// REAP_EXTERN empty, defines it. Part of layer/reap.h.

#include "reap/layer/reap.h"

#if !defined(REAP_EXTERN)
#define REAP_EXTERN extern
#endif

#if REAP_PREBUILT
namespace reap::inline REAP_MODE {

REAP_EXTERN template class Superblocks<>;
REAP_EXTERN template class ChunkLists<SharedSuperblocks>;
REAP_EXTERN template class ThreadChunks<SharedSuperblocks>;

REAP_EXTERN template class Reap<>;
REAP_EXTERN template Reap<>::Taken Reap<>::serve<Failure::throws, true>(std::size_t, std::size_t);
REAP_EXTERN template Reap<>::Taken Reap<>::serve<Failure::returns_null, true>(std::size_t, std::size_t);
REAP_EXTERN template void *Reap<>::reallocate_slow<Failure::throws>(void *, std::size_t, std::size_t);
REAP_EXTERN template void *Reap<>::reallocate_slow<Failure::returns_null>(void *, std::size_t, std::size_t);
REAP_EXTERN template void *Reap<>::guarded<Failure::throws>(std::size_t, std::size_t);
REAP_EXTERN template void *Reap<>::guarded<Failure::returns_null>(std::size_t, std::size_t);

REAP_EXTERN template class Reap<CachedSuperblocks, 16, usual_window, Sizes::told>; // SizedReap<>
REAP_EXTERN template SizedReap<>::Taken SizedReap<>::serve<Failure::throws, true>(std::size_t, std::size_t);
REAP_EXTERN template SizedReap<>::Taken SizedReap<>::serve<Failure::returns_null, true>(std::size_t,
                                                                                        std::size_t);
REAP_EXTERN template void *SizedReap<>::guarded<Failure::throws>(std::size_t, std::size_t);
REAP_EXTERN template void *SizedReap<>::guarded<Failure::returns_null>(std::size_t, std::size_t);

} // namespace reap::inline REAP_MODE
#endif
