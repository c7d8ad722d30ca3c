// Everything but the common case of an allocation call. Out of line, so that the entry points fit on a
// screen.
#pragma once

#include <cstddef>

#include "image.h"
#include "real.h"
#include "reap_encode.h"

namespace reap::preload {

// Whether the thread may record now. Initialises a new thread first.
REAP_COLD bool make_ready(ThreadState &thread) noexcept;
inline bool ready(ThreadState &thread) noexcept {
    const bool running = thread.phase == Phase::Recording && !thread.busy && !image.is_copy();
    return likely(running) || make_ready(thread);
}

// Whether a call comes from an allocator's own operator, which has already been recorded.
inline bool is_nested(ThreadState &thread) noexcept {
    if (likely(!thread.inside_operator)) return false;
    thread.called_back = true;
    return true;
}

// Whether the thread records in full depth, and may do so now: nearly always then.
inline bool records_all(const ThreadState &thread) noexcept {
    return thread.may_record<Writes::Events>() && !image.is_copy();
}

// The same in triage that writes every event.
inline bool records_both(const ThreadState &thread) noexcept {
    return thread.may_record<Writes::Both>() && !image.is_copy();
}

// The thread's permission to record during a call. For some calls it borrows idle counters: see Image::lends.
// (If an exception unwinds through the call, no destructor runs here: the counters stay borrowed, which is
// harmless.)
class Permit {
  public:
    explicit Permit(ThreadState &thread) noexcept
        : thread_(thread), before_(thread.phase),
          borrowed_(unlikely(before_ != Phase::Recording) && image.lends(thread)), granted_(ready(thread)) {}
    ~Permit() {
        if (unlikely(borrowed_)) image.take_back(thread_, before_);
    }
    Permit(const Permit &) = delete;
    Permit &operator=(const Permit &) = delete;
    [[nodiscard]] bool granted() const noexcept { return granted_; }

  private:
    ThreadState &thread_;
    Phase before_;
    bool borrowed_;
    bool granted_;
};

// No block is larger than the address space. Restores the budget that such a request spent, which would stop
// sampling, or enable the fast path in full depth.
inline void refund_impossible(ThreadState &thread, size_t size) noexcept {
    if (unlikely(size >> 47 != 0)) thread.spend(-size - 2 * uint64_t{kSampleSlack});
}

// Counts an allocation in the thread's own counters.
void count_allocation(ThreadState &thread, reap_call call, size_t size, bool succeeded) noexcept;

// Triage: `pointer` was sampled. For `frame` see Image::intern_stack.
void record_sample(ThreadState &thread, reap_call call, size_t size, void *pointer, uint64_t before,
                   uint64_t after, const void *frame) noexcept;

// Full depth: an allocation has returned `pointer`, which is returned. `alignment` is 0 if none was
// requested. The stack begins with the caller: a tail call leaves the entry point's.
[[gnu::noinline]] void *record_allocation(ThreadState &thread, reap_call call, size_t size, size_t alignment,
                                          void *pointer) noexcept;

// Triage: counts an allocation that has returned `pointer`, which is returned, and writes it where every
// event is written. The stack is as for `record_allocation`.
[[gnu::noinline]] void *note_allocation(ThreadState &thread, reap_call call, size_t size, size_t alignment,
                                        void *pointer) noexcept;

// Borrows counters only after the allocator has returned, which may wait for a lock: else many threads would
// hold some.
template <class Invoke>
[[gnu::always_inline]] inline void *allocate_and_borrow(reap_call call, size_t size, Invoke invoke) {
    ThreadState &thread = thread_state;
    const int64_t spent = thread.budget;
    const uint64_t before = image.now();
    void *pointer = invoke();
    const uint64_t after = image.now();
    if (thread.phase != Phase::Recording) thread.budget = spent; // not what the allocator's own calls left
    const Permit permit(thread);
    count_allocation(thread, call, size, pointer != nullptr);
    if (permit.granted() && thread.budget < 0)
        record_sample(thread, call, size, pointer, before, after, __builtin_frame_address(0));
    return pointer;
}

// An allocation of a thread that records in triage. No time of the recorder's is in a sample's duration.
template <class Invoke>
[[gnu::noinline]] void *allocate_in_triage(reap_call call, size_t size, size_t alignment, Invoke invoke) {
    ThreadState &thread = thread_state;
    if (thread.budget >= 0) return note_allocation(thread, call, size, alignment, invoke());
    const uint64_t before = image.now();
    void *pointer = invoke();
    const uint64_t after = image.now();
    note_allocation(thread, call, size, alignment, pointer);
    record_sample(thread, call, size, pointer, before, after, __builtin_frame_address(0));
    return pointer;
}

// What `allocate_slow` does in triage, and where a thread may not record.
template <class Invoke>
[[gnu::noinline]] void *allocate_rarely(reap_call call, size_t size, size_t alignment, Invoke invoke) {
    ThreadState &thread = thread_state;
    if (size >> 47 == 0 && records_both(thread)) return allocate_in_triage(call, size, alignment, invoke);
    if (is_nested(thread)) return invoke();
    refund_impossible(thread, size);
    if (image.may_lend(thread)) return allocate_and_borrow(call, size, invoke);
    const Permit permit(thread);
    if (!permit.granted()) {
        void *pointer = invoke();
        count_allocation(thread, call, size, pointer != nullptr);
        return pointer;
    }
    if (image.full()) return record_allocation(thread, call, size, alignment, invoke());
    return allocate_in_triage(call, size, alignment, invoke);
}

// Allocates by calling `invoke`, and records the call. Holds nothing while `invoke` runs, so that an operator
// new may throw through here.
template <class Invoke>
[[gnu::noinline]] void *allocate_slow(reap_call call, size_t size, size_t alignment, Invoke invoke) {
    ThreadState &thread = thread_state;
    if (likely(size >> 47 == 0 && records_all(thread)))
        return record_allocation(thread, call, size, alignment, invoke());
    return allocate_rarely(call, size, alignment, invoke);
}

// A free that the fast path could not handle.
void free_slow(void *pointer) noexcept;

// The same for operators delete; the caller frees the block afterwards. Returns false if the block must
// not be freed.
bool note_free(reap_call call, void *pointer) noexcept;

// realloc and reallocarray, after the overflow check of the size.
void *realloc_slow(reap_call call, void *pointer, size_t size);

// The same where `function` reallocates, which must not throw. On null the block is still allocated.
void *realloc_by(void *(*function)(void *context), void *context, reap_call call, void *pointer, size_t size);

} // namespace reap::preload
