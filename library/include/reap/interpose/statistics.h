#pragma once

#include <cstddef>

#include "reap/core/mode.h"

namespace reap::inline REAP_MODE::interpose {

/// The memory of one process, in bytes, where malloc is ours.
struct HeapStatistics {
    std::size_t chunks = 0;        ///< from the system, for objects that are not large
    std::size_t large = 0;         ///< from the system, for large objects, kept ones included
    std::size_t kept = 0;          ///< of that, freed and kept for reuse
    std::size_t large_objects = 0; ///< how many of these are in use; 0 where they are not counted
    std::size_t heaps = 0;         ///< number of heaps
    std::size_t idle = 0;          ///< of these, how many have no thread at the moment
    std::size_t idle_freed = 0;    ///< freed in these
    std::size_t mine = 0;          ///< held by the heap that serves this thread
    std::size_t mine_freed = 0;    ///< of that, freed

    /// Everything held from the system.
    [[nodiscard]] constexpr std::size_t mapped() const noexcept { return chunks + large; }
    /// What is known to be free in chunks: excludes what is free in other threads' heaps.
    [[nodiscard]] constexpr std::size_t freed() const noexcept { return idle_freed + mine_freed; }
    /// The rest, which is in use as far as is known.
    [[nodiscard]] constexpr std::size_t allocated() const noexcept { return mapped() - kept - freed(); }
};

/// The build-time settings of a heap, in bytes.
struct HeapSettings {
    std::size_t alignment;    ///< minimum, of every object
    std::size_t large_object; ///< larger objects have memory of their own
    std::size_t keep;         ///< maximum of freed large objects kept for reuse
};

} // namespace reap::inline REAP_MODE::interpose
