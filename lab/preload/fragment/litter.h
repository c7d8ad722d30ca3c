// Preconditioning a heap: Algorithm 3 of van Kempen and Berger, "Reconsidering 'Reconsidering Custom Memory
// Allocation'" (ISMM 2026). Knows nothing of processes and files, so that it can be tested by itself.
#pragma once

#include <cstddef>
#include <cstdint>

#include "reap_litter.h"

namespace reap::preload {

// What one thread is to do.
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

// The allocator, as the program would call it.
struct Heap {
    void *(*allocate)(size_t);
    void (*release)(void *);
    void (*settle)(); // called after the last block was given back, and once for every kSettleEvery before it
};

// Soon enough that the blocks in question are still in the processor's caches.
inline constexpr uint64_t kSettleEvery = 1000;

// Allocates `plan.objects` blocks of sizes drawn from the distribution, and gives all but `plan.kept` of them
// back, chosen at random. The same plan makes the same calls in the same order. On failure everything is
// given back. Needs eight bytes a block while it runs, by mmap, and nothing afterwards: freeing a large block
// of the heap itself would move glibc's thresholds.
LitterResult litter(const LitterPlan &plan, const Heap &heap) noexcept;

} // namespace reap::preload
