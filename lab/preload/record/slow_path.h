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

// Counts an allocation in the thread's own counters, or in the shared ones of threads that have ended.
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
    if (!ready(thread)) {
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
