// Around the litter: what the allocator has put off is done now, so that it is not the program that pays.
//
// No page is given back to the system: that would be a saving, and not the state of a heap in use.
#pragma once

namespace reap::preload {

// Has glibc sort what the calling thread freed to where a long-running program would find it, out of the fast
// bins and the unsorted bin. To be called once for every ten thousand frees at least. What glibc keeps in the
// thread's own cache (seven blocks a size) stays, as it does in any program.
void settle_glibc() noexcept;

// Empties the calling thread's caches in jemalloc and mimalloc, where one of them serves.
void settle_others() noexcept;

} // namespace reap::preload
