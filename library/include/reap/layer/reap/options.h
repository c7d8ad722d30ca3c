#pragma once

#include <cstddef>
#include <limits>

#include "reap/core/mode.h"

namespace reap::inline REAP_MODE {

/// How a reap takes chunks from its superblocks. Sizes in bytes; chunk sizes are powers of two, from 8 KB to
/// half a superblock.
struct ReapOptions {
    /// The first chunk, which is taken at the first allocation. A reap that is made without options takes it
    /// at once, if its source has one in a cache.
    std::size_t first_chunk = std::size_t{8} << 10;
    /// Each further chunk is this many times as large as the one before.
    std::size_t growth = 2;
    /// Maximum size of a chunk, unless for the sake of one object.
    std::size_t largest_chunk = std::size_t{1} << 20;
    /// Objects larger than this, or than a quarter of a superblock, get memory of their own from the source,
    /// which is returned there when they are freed. Objects up to 1 KB (2 KB where the granule is 16) never
    /// do.
    std::size_t large_object = std::size_t{256} << 10;
    /// 0: objects lie in allocation order, whatever their sizes, until something is freed. Otherwise small
    /// objects of one size lie side by side, in runs of this many bytes, or 1/512 of what is held if that is
    /// less (256 bytes at least): for programs that traverse objects of one kind. Ignored in checked mode.
    std::size_t largest_run = 0;
    /// Maximum that the reap may hold.
    std::size_t limit = std::numeric_limits<std::size_t>::max();
};

/// What a reap holds, in bytes.
struct ReapStatistics {
    std::size_t held = 0;          ///< in chunks and large objects
    std::size_t live = 0;          ///< used by objects, rounding included
    std::size_t free = 0;          ///< room for objects in chunks in use: never used, freed, left over
    std::size_t largest_hole = 0;  ///< the largest piece of that which is known to be in one
    std::size_t spare = 0;         ///< in empty chunks, kept for reuse
    std::size_t chunks = 0;        ///< number of chunks, spare ones included
    std::size_t large_objects = 0; ///< number of objects that have memory of their own
};

/// Whether a reap stores the size of each object, or requires sized deallocation.
enum class Sizes { kept, told };

} // namespace reap::inline REAP_MODE
