// Tracks dlclose and what opens libraries, so that the sites of an unloaded library keep their names if
// another is loaded at its address.
#include <dlfcn.h>

#include "next.h"
#include "own_slots.h"
#include "slow_path.h"

using namespace reap::preload;

namespace {

REAP_NEXT(next_dlclose, "dlclose", int(void *));
REAP_NEXT(next_dlmopen, "dlmopen", void *(Lmid_t, const char *, int));

} // namespace

REAP_EXPORT int dlclose(void *handle) {
    ThreadState &thread = thread_state;
    ++thread.unloads;
    if (ready(thread)) {
        const Inside inside(thread);
        define_opened_modules();
    }
    image.before_unload(handle);
    const int status = next_dlclose(handle);
    if (ready(thread)) {
        const Inside inside(thread);
        image.forget_closed_modules();
    }
    image.after_unload(); // last: numbers of stacks that were forgotten must not be remembered
    --thread.unloads;
    return status;
}

// Called by dlopen: see lab/preload/exec.
REAP_EXPORT void reap_before_load(const char *file) {
    ThreadState &thread = thread_state;
    if (!ready(thread)) return;
    const Inside inside(thread);
    image.before_load(file);
    define_opened_modules();
}

// A tail call, so that the loader still sees the caller.
REAP_EXPORT void *dlmopen(Lmid_t space, const char *file, int mode) {
    reap_before_load(file);
    return next_dlmopen(space, file, mode);
}
