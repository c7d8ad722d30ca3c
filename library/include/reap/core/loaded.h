#pragma once

#include <cstddef> // defines the macro that identifies the C library
#if defined(__GLIBC__)
#include <dlfcn.h>
#include <link.h>
#endif

#include "reap/core/mode.h"

// At its end a thread calls back into the code that registered for it. If that code is in a plugin, the
// plugin must still be loaded.

namespace reap::inline REAP_MODE::detail {

#if defined(__GLIBC__)
// Under other names and weak: a static program has no plugins, and must not be linked with the loader.
// dlopen() is looked up by name, since a linker warns about it in static programs.
[[gnu::weakref("dladdr1")]] static int find_object(const void *address, Dl_info *info, void **map,
                                                   int what) noexcept;
[[gnu::weakref("dlsym")]] static void *find_symbol(void *where, const char *name) noexcept;
#endif

/// Keeps the shared object that contains this address loaded until the process ends: dlclose() of it
/// succeeds, but neither unmaps it nor runs its destructors before those of the process. An address in the
/// executable is ignored.
///
/// g++ does that to every object with variables such as ours (STB_GNU_UNIQUE), unless they are hidden or
/// -fno-gnu-unique is given; clang never does. Calls malloc. Costs some microseconds: call it once.
inline void keep_loaded([[maybe_unused]] const void *address) noexcept {
#if defined(__GLIBC__)
    Dl_info info;
    void *found = nullptr;
    if (find_object == nullptr || find_symbol == nullptr ||
        find_object(address, &info, &found, RTLD_DL_LINKMAP) == 0)
        return;
    const char *const name = static_cast<const link_map *>(found)->l_name;
    const auto open = reinterpret_cast<decltype(&::dlopen)>(find_symbol(RTLD_DEFAULT, "dlopen"));
    if (*name == '\0' || open == nullptr) return;
    (void)open(name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
#endif
}

} // namespace reap::inline REAP_MODE::detail
