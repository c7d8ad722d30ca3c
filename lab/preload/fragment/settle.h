// After littering: makes the allocator do its deferred work now, so that the program does not pay for it.
//
// No page is returned to the OS: a heap in use would not be in that state.
#pragma once

namespace reap::preload {

// Makes glibc move the calling thread's free chunks from the fast bins and the unsorted bin to their bins, as
// in a long-running program. Call at least once per ten thousand frees. The thread cache (seven blocks per
// size) stays filled, as in any program.
void settle_glibc() noexcept;

// Flushes the calling thread's caches if the allocator is jemalloc or mimalloc.
void settle_others() noexcept;

} // namespace reap::preload
