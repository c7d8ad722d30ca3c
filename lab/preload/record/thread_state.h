// What the recorder keeps for each thread. The fast paths touch the first five fields and nothing else.
#pragma once

#include <cstdint>

#include "output/record_stream.h"
#include "platform.h"
#include "poisson.h"
#include "reap_trace.h"

namespace reap::preload {

enum class Phase : uint8_t {
    Fresh,     // has not recorded anything yet
    Recording, // in triage or full depth, as the trace says
    Off,       // nothing is recorded: no trace, no space, or the process is not ours
    Ended // the thread's destructors have run; for what it still does it takes an idle place, call by call
};

// The request that the thread is in, as reap/mark.h has them, and where it will be counted.
struct RequestState {
    uint32_t depth = 0; // requests within requests; the outermost counts
    uint32_t phase = 0; // the number of the phase that `block` is for
    reap_block_header *block = nullptr;
    uint64_t allocations = 0; // those of the thread when the request began
    uint64_t bytes = 0;
};

// The initial state is a valid fresh one: the budget runs out at the first allocation, and mask 0 raises the
// alarm at the first free, so a thread enters the slow path before it needs anything here.
struct ThreadState {
    int64_t budget = 0;            // bytes until the next sample; negative: take the slow path
    uintptr_t mask = 0;            // for WatchList::slot; 0: every free takes the slow path
    reap_counts *counts = nullptr; // never null while budget >= 0 or mask != 0
    uint64_t allocations = 0;      // blocks handed out to this thread, for what requests allocate
    size_t exact = 0;              // sizes below are counted one by one without asking for room on the disk

    Phase phase = Phase::Fresh;
    bool busy = false; // inside the recorder: a signal handler or a library it calls must not enter again
    bool inside_operator = false; // an allocator's own operator runs; what it calls is its own business
    bool called_back = false;     // it has called malloc or free by name
    bool end_is_seen = false;     // the key whose destructor tells its end is set
    uint32_t number = 0;
    uint32_t tid = 0;
    uint64_t began = 0; // ticks
    reap_block_header *counts_block = nullptr;
    RequestState request;
    int64_t drawn = 0;        // all gaps drawn so far: drawn - budget is the bytes this thread has allocated
    uint64_t last_sample = 0; // ticks
    Period period;
    Random random;
    RecordStream events;

    // Takes an allocation off the budget. May wrap around: see refund_impossible.
    void spend(uint64_t size) noexcept {
        budget = static_cast<int64_t>(static_cast<uint64_t>(budget) - size - uint64_t{kSampleSlack});
    }

    [[nodiscard]] uint64_t bytes_clock() const noexcept { return static_cast<uint64_t>(drawn - budget); }

    // Bytes of `allocations`: the clock without what was added to each, and what came to nothing.
    [[nodiscard]] uint64_t bytes() const noexcept {
        return bytes_clock() - nothing - uint64_t{kSampleSlack} * allocations;
    }

    // A call that took `size` off the budget has handed out no block. (What was larger than the address space
    // has been refunded.)
    void handed_out_nothing(size_t size) noexcept {
        if (size >> 47 == 0) nothing += size + uint64_t{kSampleSlack};
    }
    uint64_t nothing = 0;
};

// What a thread that has ended hands on to one that begins, so that its place in the file is used again. Lies
// behind the counters in their block.
struct Handover {
    RecordStream events;
    uint64_t clock;
    size_t exact;
    uint32_t number;
    reap_block_header *next;

    static Handover *of(reap_block_header *block) noexcept {
        static_assert(sizeof(reap_counts) % alignof(Handover) == 0);
        static_assert(sizeof(reap_counts) + sizeof(Handover) <= REAP_PAYLOAD_BYTES);
        return reinterpret_cast<Handover *>(TraceFile::payload(block) + sizeof(reap_counts));
    }
};

// Marks the thread as being inside the recorder and keeps the program's errno.
class Inside {
  public:
    explicit Inside(ThreadState &thread) noexcept : thread_(thread) { thread_.busy = true; }
    ~Inside() { thread_.busy = false; }
    Inside(const Inside &) = delete;
    Inside &operator=(const Inside &) = delete;

  private:
    ErrnoGuard keep_;
    ThreadState &thread_;
};

// For the length of an allocator's own operator new or delete: takes the fast paths away, and what comes to
// the slow ones is neither counted nor recorded. Not for what may throw: no destructor runs here then.
class InsideOperator {
  public:
    explicit InsideOperator(ThreadState &thread) noexcept
        : thread_(thread), budget_(thread.budget), mask_(thread.mask) {
        thread_.budget = INT64_MIN / 2;
        thread_.mask = 0;
        thread_.inside_operator = true;
        thread_.called_back = false;
    }
    ~InsideOperator() {
        thread_.budget = budget_;
        thread_.mask = mask_;
        thread_.inside_operator = false;
    }
    InsideOperator(const InsideOperator &) = delete;
    InsideOperator &operator=(const InsideOperator &) = delete;

  private:
    ThreadState &thread_;
    int64_t budget_;
    uintptr_t mask_;
};

// Initial-exec: one instruction to reach, and never an allocation.
extern constinit thread_local ThreadState thread_state __attribute__((tls_model("initial-exec")));

} // namespace reap::preload
