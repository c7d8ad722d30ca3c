// Tracks dlclose and what opens libraries, so that the sites of an unloaded library keep their names if
// another is loaded at its address.
#include <dlfcn.h>

#include "slow_path.h"

using namespace reap::preload;

REAP_EXPORT int dlclose(void *handle) {
    static int (*known)(void *);
    auto *close_it = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (close_it == nullptr) {
        close_it = reinterpret_cast<int (*)(void *)>(dlsym(RTLD_NEXT, "dlclose"));
        __atomic_store_n(&known, close_it, __ATOMIC_RELAXED);
    }
    ThreadState &thread = thread_state;
    ++thread.unloads;
    image.before_unload();
    const int status = close_it(handle);
    if (ready(thread)) {
        const Inside inside(thread);
        image.forget_closed_modules();
    }
    image.after_unload(); // last: numbers of stacks that were forgotten must not be remembered
    --thread.unloads;
    return status;
}

// Called by dlopen: see lab/preload/exec.
REAP_EXPORT void reap_before_load() {
    ThreadState &thread = thread_state;
    if (!ready(thread)) return;
    const Inside inside(thread);
    image.before_load();
}

// A tail call, so that the loader still sees the caller.
REAP_EXPORT void *dlmopen(Lmid_t space, const char *file, int mode) {
    static void *(*known)(Lmid_t, const char *, int);
    auto *open_it = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (open_it == nullptr) {
        open_it = reinterpret_cast<void *(*)(Lmid_t, const char *, int)>(dlsym(RTLD_NEXT, "dlmopen"));
        __atomic_store_n(&known, open_it, __ATOMIC_RELAXED);
    }
    reap_before_load();
    return open_it(space, file, mode);
}
