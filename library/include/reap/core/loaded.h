#pragma once

#include <cstddef> // which says whose C library it is
#if defined(__GLIBC__)
#include <dlfcn.h>
#include <link.h>
#endif

#include "reap/core/mode.h"

// A thread's end calls back into the code that asked for it. If that is in a plugin, it must still be there.

namespace reap::inline REAP_MODE::detail {

#if defined(__GLIBC__)
// By other names and weak: a static program has no plugins, and is not to be linked with what loads them.
// dlopen() is found by its name, since a linker warns of it in static programs.
[[gnu::weakref("dladdr1")]] static int find_object(const void *address, Dl_info *info, void **map,
                                                   int what) noexcept;
[[gnu::weakref("dlsym")]] static void *find_symbol(void *where, const char *name) noexcept;
#endif

/// Keeps the shared object that has this address loaded until the process ends: dlclose() of it succeeds, and
/// neither unmaps it nor runs its destructors before the process's own. A program is not asked about.
///
/// g++ does that to every object with variables such as ours (STB_GNU_UNIQUE), unless they are hidden or it
/// is told -fno-gnu-unique; clang never does. Calls malloc. Costs some microseconds: to be asked once.
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
