// libreap-fragment.so: fragments the heap before the program runs, as years of running would have.
//
// What it may cost the program is decided here: it exports three names, defines no malloc, and keeps nothing
// but one shared mapping of the litter file. The allocator is whoever the loader binds malloc to, as for any
// caller in the program.
#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
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

// A thread that litters before its body runs. Lies on the stack of the creator, who waits.
struct Start {
    void *(*body)(void *);
    void *argument;
    uint32_t number;
    int littered = 0;
};

void *begin_littered(void *pointer) {
    auto *start = static_cast<Start *>(pointer);
    process.litter_thread(start->number);
    const Start mine = *start;
    __atomic_store_n(&start->littered, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &start->littered, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    return mine.body(mine.argument);
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
    Start start{body, argument, number};
    const int error = create(thread, attributes, begin_littered, &start);
    if (error != 0) return error;
    // The clock is held for as long as the new thread litters: that is exact only while its creator waits.
    const ErrnoGuard keep;
    while (__atomic_load_n(&start.littered, __ATOMIC_ACQUIRE) == 0) {
        syscall(SYS_futex, &start.littered, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
    }
    return 0;
}

// By a jump, so that the loader still sees who asks: its search path is the caller's.
REAP_EXPORT void *dlopen(const char *file, int mode) {
    if (unlikely((mode & RTLD_DEEPBIND) != 0)) process.deepbind_seen();
    return next(real_dlopen, "dlopen")(file, mode);
}
