// Tracks dlclose, so that the sites of an unloaded library keep their names if another is loaded at its
// address.
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
    image.before_unload();
    const int status = close_it(handle);
    ThreadState &thread = thread_state;
    if (ready(thread)) {
        const Inside inside(thread);
        image.forget_closed_modules();
    }
    image.after_unload(); // last: numbers of stacks that were forgotten must not be remembered
    return status;
}
