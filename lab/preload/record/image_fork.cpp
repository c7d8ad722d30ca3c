// What an image does around a fork, whose child is an image of its own.
#include "image.h"

#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sys/syscall.h>

#include "output/lost_pages.h"
#include "platform.h"

namespace reap::preload {
namespace {

// Field 22 of /proc/self/stat. The command name before it may contain blanks and parentheses.
uint64_t read_process_start() noexcept {
    char text[1024];
    const size_t length = read_file("/proc/self/stat", text, sizeof text - 1);
    text[length] = '\0';
    const char *at = strrchr(text, ')');
    for (int field = 2; at != nullptr && field < 22; ++field) {
        at = strchr(at + 1, ' ');
    }
    return at != nullptr ? strtoull(at, nullptr, 10) : 0;
}

// Time since boot in the unit of field 22: ticks of a hundredth of a second.
uint64_t boot_ticks() noexcept {
    constexpr uint64_t kTick = 10'000'000;
    timespec time{};
    if (raw_call(SYS_clock_gettime, CLOCK_BOOTTIME, reinterpret_cast<long>(&time)) != 0) return 0;
    return (static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec)) / kTick;
}

} // namespace

// The start time of this process. The child of a fork avoids reading it, which costs more than all its other
// calls, if the fork took less than a tick: the result is then at most one too small.
uint64_t Image::find_process_start(bool forked) noexcept {
    if (trace_.in_sandbox()) return 0; // no system calls
    const uint64_t before = fork_tick_;
    fork_tick_ = 0;
    if (forked && before != 0 && boot_ticks() - before <= 1) return before;
    const ErrnoGuard keep;
    return read_process_start();
}

void Image::before_fork() noexcept {
    thread_state.busy = true; // the sampling timer must not wait for a lock that this thread holds
    prepare_fork();
    start_lock_.lock();
    definitions_lock_.lock();
    idle_lock_.lock();
    requests_.before_fork();
    if (state_ != State::Running) return;
    if (exactly() && !trace_.exactness().report(0, Exactness::kForkNs, to_ns(now() - trace_.start_ticks())))
        __atomic_store_n(&exactly_, false, __ATOMIC_RELAXED);
    trace_.before_fork();
    fork_tick_ = trace_.in_sandbox() ? 0 : boot_ticks();
}

void Image::after_fork_in_parent() noexcept {
    fork_tick_ = 0;
    trace_.after_fork_in_parent();
    requests_.after_fork_in_parent();
    idle_lock_.unlock();
    definitions_lock_.unlock();
    start_lock_.unlock();
    thread_state.busy = false;
}

void Image::after_fork_in_child(bool by_handler) noexcept {
    trace_.after_fork_in_child(by_handler);
    guard_lost_pages_in_child();
    requests_.after_fork_in_child();
    idle_lock_.reset();
    definitions_lock_.reset();
    start_lock_.reset();
    unwinder_.after_fork_in_child(thread_state.unloads);
    // All mapped blocks belong to the parent, which still writes to them: drop them without sealing.
    idle_ = nullptr;
    definitions_.forget();
    watched.forget();
    threads_ = 0;
    const bool end_key_set = thread_state.end_key_set;
    const uint32_t unloads = thread_state.unloads;
    FullDepth *const full = thread_state.full; // holds: the child has the same stack and numbers
    thread_state = ThreadState{};
    thread_state.full = full;
    thread_state.unloads = unloads;
    thread_state.end_key_set = end_key_set;
    if (alive_ != nullptr) *alive_ = 1;
    if (has_ended()) state_ = State::Off;
    if (state_ != State::Running) return;
    parent_ = number_ + 1;
    define_self(REAP_IMAGE_FORKED);
}

} // namespace reap::preload
