#pragma once

#include <cstddef>

#include "reap/core/mode.h"

namespace reap::inline REAP_MODE::interpose {

/// What one process holds, in bytes, where malloc is ours.
struct HeapStatistics {
    std::size_t chunks = 0;     ///< from the system, for objects that are not large
    std::size_t large = 0;      ///< from the system, for large objects, kept ones included
    std::size_t kept = 0;       ///< of that, freed and kept for the next
    std::size_t heaps = 0;      ///< how many there are
    std::size_t idle = 0;       ///< of these, how many are nobody's at the moment
    std::size_t mine = 0;       ///< held by the heap that serves this thread
    std::size_t mine_freed = 0; ///< of that, freed
};

} // namespace reap::inline REAP_MODE::interpose
