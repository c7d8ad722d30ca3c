// What happened, one event at a time, in either depth.
#pragma once

#include <cmath>
#include <cstdint>

#include "reap_trace.h"

namespace reap::native {

enum class What : uint8_t {
    Alloc,     // full depth: a block was allocated
    Free,      // full depth: a block was freed
    Failed,    // full depth: null was returned
    Sample,    // triage: a sampled block was allocated
    SampleEnd, // triage: such a block was freed
};

struct Event {
    What what = What::Alloc;
    uint8_t call = 0;        // enum reap_call
    bool by_realloc = false; // one half of a realloc: the free of the old block, or the new one
    bool follows = false;    // has no stamp: no other thread's event is between it and the one before it
    uint32_t stack = 0;      // frame id, 0 unknown
    uint64_t ticks = 0;
    uint64_t address = 0;
    uint64_t size = 0;
    // Samples alone:
    uint64_t period = 0;      // mean gap in bytes that the sample was drawn with
    uint64_t duration = 0;    // ticks that the call took
    uint64_t clock = 0;       // bytes that the thread named in `thread` had allocated by then; see `weight`
    uint64_t allocations = 0; // of a Sample: blocks allocated so far under the thread's number
    uint64_t frees = 0;       // and freed
    uint32_t thread = 0;      // of a SampleEnd: the freeing thread

    // Of a Sample: how many allocations it stands for.
    [[nodiscard]] double weight() const noexcept {
        if (period == 0) return static_cast<double>(clock) / REAP_WEIGHT_UNIT;
        const double drawn = static_cast<double>(size + 16) / static_cast<double>(period);
        return 1.0 / -std::expm1(-drawn);
    }
};

} // namespace reap::native
