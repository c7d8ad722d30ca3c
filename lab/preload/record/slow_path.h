// Everything that is not the common case of an allocation call. Out of line, so that the entry points stay
// on one screen.
#pragma once

#include <cstddef>

#include "image.h"
#include "real.h"
#include "reap_encode.h"

namespace reap::preload {

// Whether the thread may record now. Makes a fresh thread ready first.
bool ready(ThreadState &thread) noexcept;

// Whether a call comes from within an allocator's own operator, which has been recorded already.
inline bool passes(ThreadState &thread) noexcept {
    if (likely(!thread.inside_operator)) return false;
    thread.called_back = true;
    return true;
}

// The thread's permission to record for the length of a call. A thread that has ended takes an idle place and
// gives it back. (When an exception passes through, no destructor runs here: the place then stays taken,
// which is harmless.)
class Turn {
  public:
    explicit Turn(ThreadState &thread) noexcept
        : thread_(thread), borrowed_(thread.phase == Phase::Ended), granted_(ready(thread)) {}
    ~Turn() {
        if (borrowed_) image.leave(thread_);
    }
    Turn(const Turn &) = delete;
    Turn &operator=(const Turn &) = delete;
    [[nodiscard]] bool granted() const noexcept { return granted_; }

  private:
    ThreadState &thread_;
    bool borrowed_;
    bool granted_;
};

// No block is larger than the address space. What was taken off the budget for such a request is given back:
// it would stop the sampling, or start the fast path in full depth.
inline void refund_impossible(ThreadState &thread, size_t size) noexcept {
    if (unlikely(size >> 47 != 0)) thread.spend(-size - 2 * uint64_t{kSampleSlack});
}

// Counts an allocation in the thread's own counters.
void count_allocation(ThreadState &thread, reap_call call, size_t size, bool succeeded) noexcept;

// Triage: `pointer` was drawn as a sample.
void record_sample(ThreadState &thread, reap_call call, size_t size, void *pointer, uint64_t before,
                   uint64_t after) noexcept;

// Full depth: an allocation has returned. `alignment` is 0 where none was asked for.
void record_allocation(ThreadState &thread, reap_call call, size_t size, size_t alignment,
                       void *pointer) noexcept;

// Serves an allocation by calling `invoke`, and records it. Nothing is held while `invoke` runs, so that an
// operator new may throw through here.
template <class Invoke>
[[gnu::noinline]] void *allocate_slow(reap_call call, size_t size, size_t alignment, Invoke invoke) {
    ThreadState &thread = thread_state;
    if (passes(thread)) return invoke();
    refund_impossible(thread, size);
    const Turn turn(thread);
    if (!turn.granted()) {
        void *pointer = invoke();
        count_allocation(thread, call, size, pointer != nullptr);
        return pointer;
    }
    if (image.full()) {
        void *pointer = invoke();
        record_allocation(thread, call, size, alignment, pointer);
        return pointer;
    }
    if (thread.budget >= 0) {
        void *pointer = invoke();
        count_allocation(thread, call, size, pointer != nullptr);
        return pointer;
    }
    const uint64_t before = image.now();
    void *pointer = invoke();
    const uint64_t after = image.now();
    count_allocation(thread, call, size, pointer != nullptr);
    record_sample(thread, call, size, pointer, before, after);
    return pointer;
}

// A free that the fast path could not do. `release` gives the block back.
void free_slow(reap_call call, void *pointer, void (*release)(void *)) noexcept;

// The same for operators delete that say the size; `release` is called by the caller afterwards. Returns
// false when the block must not be released at all.
bool note_free(reap_call call, void *pointer) noexcept;

// realloc and reallocarray, once the size is known not to overflow.
void *realloc_slow(reap_call call, void *pointer, size_t size);

} // namespace reap::preload
