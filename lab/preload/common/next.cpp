#include "next.h"

#include <dlfcn.h>

// The linker names the ends of a section. Without such variables there is none.
extern "C" {
[[gnu::weak]] REAP_HIDDEN extern reap::preload::NextSymbol __start_reap_next[];
[[gnu::weak]] REAP_HIDDEN extern reap::preload::NextSymbol __stop_reap_next[];
}

namespace reap::preload {

void *NextSymbol::find() noexcept {
    const ErrnoGuard keep;
    void *found = dlsym(RTLD_NEXT, name);
    __atomic_store_n(&function, found, __ATOMIC_RELAXED);
    return found;
}

// Before the other constructors of the object.
[[gnu::constructor(101)]] static void find_all() {
    for (NextSymbol *each = __start_reap_next; each < __stop_reap_next; ++each) each->find();
}

} // namespace reap::preload
