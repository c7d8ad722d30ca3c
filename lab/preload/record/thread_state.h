// What the recorder keeps for each thread. The fast paths read the first three fields and nothing else.
#pragma once

#include <cstdint>

#include "poisson.h"
#include "reap_trace.h"
#include "record_stream.h"

namespace reap::preload {

enum class Phase : uint8_t {
    Fresh,     // has not recorded anything yet
    Recording, // in triage or full depth, as the trace says
    Off,       // nothing is recorded: no trace, no space, or the process is not ours
    Ended      // the thread's destructors have run; what it still does is counted under a lock
};

// The initial state is a valid fresh one: the budget runs out at the first allocation, and mask 0 raises the
// alarm at the first free, so a thread enters the slow path before it needs anything here.
struct ThreadState {
    int64_t budget = 0;            // bytes until the next sample; negative: take the slow path
    uintptr_t mask = 0;            // for WatchList::slot; 0: every free takes the slow path
    reap_counts *counts = nullptr; // never null while budget >= 0 or mask != 0

    Phase phase = Phase::Fresh;
    bool busy = false; // inside the recorder: a signal handler or a library it calls must not enter again
    uint32_t number = 0;
    uint32_t tid = 0;
    reap_block_header *counts_block = nullptr;
    int64_t drawn = 0;        // all gaps drawn so far: drawn - budget is the bytes this thread has allocated
    uint64_t last_sample = 0; // ticks
    Period period;
    Random random;
    RecordStream events;

    [[nodiscard]] uint64_t bytes_clock() const noexcept { return static_cast<uint64_t>(drawn - budget); }
};

// Initial-exec: one instruction to reach, and never an allocation.
extern constinit thread_local ThreadState thread_state __attribute__((tls_model("initial-exec")));

} // namespace reap::preload
