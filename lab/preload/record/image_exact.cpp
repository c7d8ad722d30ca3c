// What an image does while triage writes every event: see Exactness.
#include "image.h"

namespace reap::preload {

// All its calls take the slow paths.
void Image::begin_exactly(ThreadState &thread) noexcept {
    thread.writes = Writes::Both;
    thread.exact = 0;
    thread.mask = 0;
    thread.paid = thread.events_so_far();
}

// The fast paths of triage, from now on.
void Image::end_exactly(ThreadState &thread) noexcept {
    thread.writes = Writes::Samples;
    thread.exact = thread.sizes;
    thread.mask = WatchList::kMask;
}

// Reports what the thread wrote since it did so last; whether every event is still written.
bool Image::report(ThreadState &thread) noexcept {
    const uint64_t events = thread.events_so_far();
    const uint64_t fresh = events > thread.paid ? events - thread.paid : 0;
    thread.paid = events;
    const uint64_t frames = __atomic_exchange_n(&frames_, 0, __ATOMIC_RELAXED);
    const uint64_t elapsed = to_ns(now() - trace_.start_ticks());
    const uint64_t walked = thread.walked;
    thread.walked = 0;
    const uint64_t cost =
        fresh * Exactness::kEventNs + walked * Exactness::kWalkNs + frames * Exactness::kFrameNs;
    const bool goes_on = trace_.exactness().report(fresh, cost, elapsed);
    if (!goes_on) __atomic_store_n(&exactly_, false, __ATOMIC_RELAXED);
    return goes_on;
}

bool Image::renew_exactness(ThreadState &thread) noexcept {
    // A first event is not reported: few processes write many, and their children need not map the header.
    if (exactly() && (thread.events.is_new() || report(thread))) return begin_event(thread) != nullptr;
    end_exactly(thread);
    return false;
}

} // namespace reap::preload
