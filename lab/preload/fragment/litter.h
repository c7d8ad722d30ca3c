// Preconditioning a heap: Algorithm 3 of van Kempen and Berger, "Reconsidering 'Reconsidering Custom Memory
// Allocation'" (ISMM 2026). Independent of processes and files, so that it can be tested by itself.
#pragma once

#include <cstddef>
#include <cstdint>

#include "reap_litter.h"

namespace reap::preload {

// The work of one thread.
struct LitterPlan {
    const reap_litter_size *sizes;
    uint32_t size_count;
    uint64_t objects;
    uint64_t kept;
    uint64_t seed;
    reap_litter_order order;
    bool touch;
};

struct LitterResult {
    reap_litter_failure failure = REAP_LITTER_NO_FAILURE;
    uint64_t objects = 0;
    uint64_t bytes = 0;
    uint64_t kept = 0;
    uint64_t kept_bytes = 0;
};

// The allocator, as the program calls it.
struct Heap {
    void *(*allocate)(size_t);
    void (*release)(void *);
    void (*settle)(); // called after every kSettleEvery frees and after the last one
};

// Often enough that the freed blocks are still in the CPU's caches.
inline constexpr uint64_t kSettleEvery = 1000;

// Allocates `plan.objects` blocks of sizes sampled from the distribution, and frees all but `plan.kept` of
// them, chosen at random. The same plan makes the same calls in the same order. On failure everything is
// freed. While it runs it needs eight bytes per block from mmap: freeing a large block of the heap itself
// would change glibc's thresholds.
LitterResult litter(const LitterPlan &plan, const Heap &heap) noexcept;

} // namespace reap::preload
