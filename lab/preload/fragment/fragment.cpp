// libreap-fragment.so: fragments the heap before the program runs, as if it had run for years.
//
// It interferes with the program as little as possible: it exports two functions, defines no malloc, and
// keeps only one shared mapping of the litter file. It uses the allocator that the loader binds malloc to, as
// any caller in the program does.
#include <cerrno>
#include <ctime>
#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "next.h"
#include "platform.h"
#include "process.h"

using namespace reap::preload;

namespace {

REAP_NEXT(real_pthread_create, "pthread_create", decltype(pthread_create));
REAP_NEXT(real_dlopen, "dlopen", decltype(dlopen));

// The progress of a thread that litters before its body runs, and whether its creator still waits.
enum Progress : int { Littering = 0, Littered = 1, Detached = 2 };

// In a mapping of its own, which the last of the two unmaps: a creator may jump out of a signal handler, and
// a detached thread outlives the call.
struct Start {
    void *(*body)(void *);
    void *argument;
    uint32_t number;
    clockid_t clock; // (atomic) the thread's CPU-time clock; 0 until it runs
    int progress;    // (atomic)
};

void *begin_littered(void *pointer) {
    auto *const start = static_cast<Start *>(pointer);
    const Start mine = *start;
    clockid_t clock = 0;
    if (pthread_getcpuclockid(pthread_self(), &clock) == 0) {
        __atomic_store_n(&start->clock, clock, __ATOMIC_RELEASE);
    }
    reap_litter_report *const report = process.litter_thread(mine.number);
    Process::set_creator_waited(report, true); // before the creator continues and may end the process
    if (__atomic_exchange_n(&start->progress, Littered, __ATOMIC_ACQ_REL) == Detached) {
        Process::set_creator_waited(report, false);
        munmap(start, sizeof *start);
    } else {
        syscall(SYS_futex, &start->progress, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    }
    return mine.body(mine.argument);
}

// The CPU time of the thread, in nanoseconds; -1 before it runs.
int64_t cpu_time(const Start &start) noexcept {
    const clockid_t clock = __atomic_load_n(&start.clock, __ATOMIC_ACQUIRE);
    timespec used{};
    if (clock == 0 || clock_gettime(clock, &used) != 0) return -1;
    return used.tv_sec * int64_t{1'000'000'000} + used.tv_nsec;
}

// Waits while the new thread litters, so that the measured time can exclude it exactly. But the creator may
// hold a lock that the thread's malloc needs, the loader's or the allocator's: a thread that makes no
// progress is detached.
void wait_for(Start *start) noexcept {
    constexpr timespec kTimeout{0, 300'000'000};
    int64_t before = -1;
    while (__atomic_load_n(&start->progress, __ATOMIC_ACQUIRE) == Littering) {
        const long woken =
            syscall(SYS_futex, &start->progress, FUTEX_WAIT_PRIVATE, Littering, &kTimeout, nullptr, 0);
        if (woken == 0 || errno != ETIMEDOUT) continue;
        const int64_t used = cpu_time(*start);
        int expected = Littering;
        if (used >= 0 && used == before &&
            __atomic_compare_exchange_n(&start->progress, &expected, Detached, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE)) {
            process.stop_littering_threads();
            return;
        }
        before = used;
    }
    munmap(start, sizeof *start);
}

} // namespace

// The loader passes these arguments to constructors before libc has them. With -z initfirst this one runs
// before those of all other libraries, including the allocator and libc.
[[gnu::constructor]] static void start(int, char **, char **environment) {
    // libc is about to do the same; allocators read their settings at the first malloc.
    if (environ == nullptr) environ = environment;
    process.start(environment);
}

REAP_EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *),
                               void *argument) {
    const uint32_t number = process.next_thread(__builtin_return_address(0));
    if (likely(number == 0)) return real_pthread_create(thread, attributes, body, argument);
    const ErrnoGuard keep;
    auto *const start = static_cast<Start *>(map_private(sizeof(Start)));
    if (start == nullptr) return real_pthread_create(thread, attributes, body, argument);
    *start = {body, argument, number, 0, Littering};
    const int error = real_pthread_create(thread, attributes, begin_littered, start);
    if (error == 0) {
        wait_for(start);
    } else {
        munmap(start, sizeof *start);
    }
    return error;
}

// A tail call, so that the loader still sees the caller, whose search path it uses.
REAP_EXPORT void *dlopen(const char *file, int mode) {
    if (unlikely((mode & RTLD_DEEPBIND) != 0)) process.count_deepbind();
    return real_dlopen(file, mode);
}
