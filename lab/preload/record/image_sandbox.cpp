// What an image does where the process gives up system calls, or the time stamp counter.
#include "image.h"

#include <ctime>
#include <sys/syscall.h>
#include <unistd.h>

#include "stack_walk.h"
#include "timer_sampler.h"

namespace reap::preload {

void Image::enter_sandbox(ThreadState &thread, bool strict) noexcept {
    const Inside inside(thread);
    if (state_ != State::Running || pid_ != static_cast<uint32_t>(getpid())) return; // as after vfork
    if (!trace_.in_sandbox()) {
        stop_timer_sampler();
        disable_stack_probing();
        if (exactly()) { // there is no space for every event
            trace_.exactness().end();
            __atomic_store_n(&exactly_, false, __ATOMIC_RELAXED);
            if (thread.writes == Writes::Both) end_exactly(thread);
        }
        thread.events.allocate_whole_block(trace_);
        if (thread.counts_block != nullptr) {
            if (thread.sizes < REAP_EXACT_SIZES) count_more_sizes(thread, REAP_EXACT_SIZES - 1);
            if (!thread.counts_large) count_more_sizes(thread, REAP_EXACT_SIZES);
        }
        const LockGuard guard(definitions_lock_);
        definitions_.allocate_whole_block(trace_);
        trace_.enter_sandbox();
    }
    if (strict && thread.phase == Phase::Recording) {
        trace_.record_stop(REAP_STOP_SANDBOX, 0);
        disable(thread);
    }
}

void Image::forbid_tsc(bool forbidden) noexcept {
    if (clock_ == REAP_CLOCK_TSC) tsc_forbidden_ = forbidden;
}

// Avoids the vDSO, which reads the TSC.
uint64_t Image::now_by_syscall() const noexcept {
    timespec time{};
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
    constexpr uint64_t kSecond = 1'000'000'000;
    return trace_.ticks(static_cast<uint64_t>(time.tv_sec) * kSecond + static_cast<uint64_t>(time.tv_nsec));
}

} // namespace reap::preload
