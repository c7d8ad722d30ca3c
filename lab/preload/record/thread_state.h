// The recorder's per-thread state. The fast paths of triage use only the first five fields, those of full
// depth two cache lines.
#pragma once

#include <cstddef>
#include <cstdint>

#include "address_owners.h"
#include "deep_stack.h"
#include "known_stack.h"
#include "output/record_stream.h"
#include "platform.h"
#include "poisson.h"
#include "python/stacks.h"
#include "reap_trace.h"

namespace reap::preload {

enum class Phase : uint8_t {
    Fresh,     // has not recorded anything yet
    Recording, // in triage or full depth, as the trace specifies
    Off,       // nothing is recorded: no trace, no space, or the process is not ours
    Ended      // its destructors have run: it borrows idle counters for each further call, see Image::lends
};

// What a recording thread writes besides its counters.
enum class Writes : uint8_t {
    Samples, // triage
    Events,  // full depth: every event
    Both     // triage, as long as the whole tree has few events: see Exactness
};

// The current request of the thread (see reap/mark.h), and where it will be counted.
struct RequestState {
    uint32_t depth = 0; // of nested requests; the outermost counts
    uint32_t phase = 0; // the phase of `block`
    reap_block_header *block = nullptr;
    uint64_t allocations = 0; // the thread's count when the request began
    uint64_t bytes = 0;
};

// What makes many events cheap: mapped at the first event, and in triage after a few samples.
struct FullDepth {
    uint32_t stack_places[REAP_STACK_PLACES]; // of the thread's block of events
    KnownStack known;
    KnownPython *python; // mapped where the program runs Python
    size_t limit; // frames of stacks that `known` is asked for: few while they are deeper than recorded
    DeepStack deep;
};

// The initial state is valid: the budget runs out at the first allocation, and mask 0 triggers at the first
// free, so a thread enters the slow path before it needs anything here.
struct alignas(64) ThreadState {
    int64_t budget = 0;            // bytes until the next sample; negative: take the slow path
    uintptr_t mask = 0;            // for WatchList::slot; 0: every free takes the slow path
    reap_counts *counts = nullptr; // never null while budget >= 0 or mask != 0
    uint64_t allocations = 0;      // blocks allocated by this thread, for request counts
    size_t exact = 0;              // of smaller sizes the fast path counts: `sizes`, or 0 to avoid it

    // These four are read as one word: see may_record.
    Phase phase = Phase::Fresh;
    bool busy = false; // inside the recorder, which must not be re-entered by a signal handler or a library
    bool inside_operator = false; // an allocator's own operator runs; its calls are not recorded
    Writes writes = Writes::Samples;
    bool called_back = false;  // it has called malloc or free by name
    bool end_key_set = false;  // the key whose destructor tells its end is set
    bool counts_large = false; // the counters of sizes from REAP_EXACT_SIZES on are allocated
    uint8_t walks = 0;         // stacks that were walked without `full`, up to a few
    FullDepth *full = nullptr; // mapped when it pays, and passed on like the counters
    uint32_t number = 0;
    AddressOwners::Tag owner = AddressOwners::tag_of(0); // the number as a mark
    RecordStream events;

    size_t sizes = 0;  // smaller sizes have exact counters whose pages are allocated
    uint64_t paid = 0; // of `events_so_far`, those whose cost has been reported
    uint32_t walked =
        0; // stacks that were walked since then, or frames of those that are too deep to remember
    uint64_t began = 0;   // ticks
    uint32_t unloads = 0; // calls of dlclose that this thread is in
    uint32_t tid = 0;
    bool takes_over = false; // its stream has another thread's events, and does not yet say that it follows
    bool borrows = false;    // its counters are for one call: see Image::lends
    uint8_t borrowed_calls = 0;
    bool has_sample = false;
    reap_block_header *counts_block = nullptr;
    RequestState request;
    int64_t sampled_until = 0; // all gaps drawn so far: drawn - budget is the bytes this thread has allocated
    uint64_t last_sample = 0;  // ticks
    Period period;
    Random random;

    // Whether the thread is recording and writes this, and is neither in the recorder nor in an allocator's
    // own operator.
    template <Writes kWrites>
    [[nodiscard]] bool may_record() const noexcept {
        static_assert(offsetof(ThreadState, inside_operator) == offsetof(ThreadState, phase) + 2);
        static_assert(offsetof(ThreadState, writes) == offsetof(ThreadState, phase) + 3);
        static_assert(offsetof(ThreadState, events) == 64 && sizeof events <= 64);
        constexpr uint32_t kHigh = static_cast<uint32_t>(kWrites) << 24;
        uint32_t word;
        __builtin_memcpy(&word, &phase, sizeof word);
        return word == (static_cast<uint32_t>(Phase::Recording) | kHigh);
    }

    // Blocks allocated and freed, of which each is an event.
    [[nodiscard]] uint64_t events_so_far() const noexcept {
        return allocations + (counts != nullptr ? counts->frees : 0);
    }

    // Subtracts an allocation from the budget. May wrap around: see refund_impossible.
    void spend(uint64_t size) noexcept {
        budget = static_cast<int64_t>(static_cast<uint64_t>(budget) - size - uint64_t{kSampleSlack});
    }

    [[nodiscard]] uint64_t bytes_clock() const noexcept {
        return static_cast<uint64_t>(sampled_until - budget);
    }

    // Bytes of `allocations`: the clock without the slack of each, and without failed calls.
    [[nodiscard]] uint64_t bytes() const noexcept {
        return bytes_clock() - failed_bytes - uint64_t{kSampleSlack} * allocations;
    }

    // A call that took `size` off the budget has allocated no block. (What was larger than the address space
    // has been refunded.)
    void note_failure(size_t size) noexcept {
        if (size >> 47 == 0) failed_bytes += size + uint64_t{kSampleSlack};
    }
    uint64_t failed_bytes = 0;

    // Stamps that were needed only because another thread had been at the address, and the allocations when
    // they were last compared.
    uint32_t meetings = 0;
    uint64_t allocations_at_meetings = 0;
};

// What an ended thread passes to a new one, so that its blocks in the file are reused. Stored among the
// counters, in their first page.
struct Handover {
    RecordStream events;
    uint64_t clock;
    size_t sizes;
    uint32_t number;
    bool counts_large;
    FullDepth *full;
    reap_block_header *next;

    static Handover *of(reap_block_header *block) noexcept {
        static_assert(sizeof(Handover) <= sizeof(reap_counts::writer));
        static_assert(offsetof(reap_counts, writer) % alignof(Handover) == 0);
        return reinterpret_cast<Handover *>(TraceFile::payload(block) + offsetof(reap_counts, writer));
    }
};

// Marks the thread as being inside the recorder. A signal handler sees the mark: what the scope does stays in
// it.
class Busy {
  public:
    explicit Busy(ThreadState &thread) noexcept : thread_(thread) {
        thread_.busy = true;
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
    }
    ~Busy() {
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        thread_.busy = false;
    }
    Busy(const Busy &) = delete;
    Busy &operator=(const Busy &) = delete;

  private:
    ThreadState &thread_;
};

// The same, and preserves the program's errno.
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

// During an allocator's own operator new or delete: disables the fast paths, and makes the slow paths neither
// count nor record. Not for operators that may throw: the destructor would not run.
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

// Initial-exec TLS: accessed with one instruction, and never allocated.
extern constinit thread_local ThreadState thread_state __attribute__((tls_model("initial-exec")));

} // namespace reap::preload
