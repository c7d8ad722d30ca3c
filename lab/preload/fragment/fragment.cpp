// libreap-fragment.so: fragments the heap before the program runs, as years of running would have.
//
// What it may cost the program is decided here: it exports three names, defines no malloc, and keeps nothing
// but one shared mapping of the litter file. The allocator is whoever the loader binds malloc to, as for any
// caller in the program.
#include <cerrno>
#include <ctime>
#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform.h"
#include "process.h"

using namespace reap::preload;

namespace {

template <class Function>
Function *next(Function *&slot, const char *name) noexcept {
    Function *found = __atomic_load_n(&slot, __ATOMIC_RELAXED);
    if (found == nullptr) {
        found = reinterpret_cast<Function *>(dlsym(RTLD_NEXT, name));
        __atomic_store_n(&slot, found, __ATOMIC_RELAXED);
    }
    return found;
}

decltype(pthread_create) *real_pthread_create;
decltype(dlopen) *real_dlopen;

// How far a thread is that litters before its body runs, and whether its creator still waits.
enum Progress : int { Littering = 0, Littered = 1, Alone = 2 };

// In a mapping of its own, which goes with the last of the two: a creator may leave by a jump out of a signal
// handler, and a thread that was left alone outlives the call.
struct Start {
    void *(*body)(void *);
    void *argument;
    uint32_t number;
    clockid_t clock; // (atomic) of the thread's CPU time; 0 until it runs
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
    Process::waited_for(report, true); // said before the creator goes on, who may end the process
    if (__atomic_exchange_n(&start->progress, Littered, __ATOMIC_ACQ_REL) == Alone) {
        Process::waited_for(report, false);
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

// The clock is held for as long as the new thread litters: that is exact only while its creator waits. But
// the creator may hold a lock that the thread's malloc wants, the loader's or one of the allocator's own:
// where the thread gets nowhere it is left to itself.
void wait_for(Start *start) noexcept {
    constexpr timespec kPatience{0, 300'000'000};
    int64_t before = -1;
    while (__atomic_load_n(&start->progress, __ATOMIC_ACQUIRE) == Littering) {
        const long woken =
            syscall(SYS_futex, &start->progress, FUTEX_WAIT_PRIVATE, Littering, &kPatience, nullptr, 0);
        if (woken == 0 || errno != ETIMEDOUT) continue;
        const int64_t used = cpu_time(*start);
        int expected = Littering;
        if (used >= 0 && used == before &&
            __atomic_compare_exchange_n(&start->progress, &expected, Alone, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE)) {
            process.leave_threads_alone();
            return;
        }
        before = used;
    }
    munmap(start, sizeof *start);
}

} // namespace

// The loader hands these to constructors before libc itself has them. With -z initfirst this one runs before
// those of all other libraries, the allocator's and libc's own among them.
[[gnu::constructor]] static void start(int, char **, char **environment) {
    // What libc is about to do anyway: allocators look for their settings at the first malloc.
    if (environ == nullptr) environ = environment;
    next(real_pthread_create, "pthread_create");
    next(real_dlopen, "dlopen");
    process.start(environment);
}

REAP_EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *),
                               void *argument) {
    auto *create = next(real_pthread_create, "pthread_create");
    const uint32_t number = process.next_thread(__builtin_return_address(0));
    if (likely(number == 0)) return create(thread, attributes, body, argument);
    const ErrnoGuard keep;
    auto *const start = static_cast<Start *>(map_private(sizeof(Start)));
    if (start == nullptr) return create(thread, attributes, body, argument);
    *start = {body, argument, number, 0, Littering};
    const int error = create(thread, attributes, begin_littered, start);
    if (error == 0) {
        wait_for(start);
    } else {
        munmap(start, sizeof *start);
    }
    return error;
}

// By a jump, so that the loader still sees who asks: its search path is the caller's.
REAP_EXPORT void *dlopen(const char *file, int mode) {
    if (unlikely((mode & RTLD_DEEPBIND) != 0)) process.deepbind_seen();
    return next(real_dlopen, "dlopen")(file, mode);
}
