// libdl's functions, which a program before glibc 2.34 may not have: then it opens no library itself.
#include <dlfcn.h>

#include "exported.h"
#include "newer.h"

namespace reap::older {
namespace {

constinit Newer<void *(void *, const char *), Library::Later> newer_dlsym{"dlsym"};
constinit Newer<void *(const char *, int), Library::Later> newer_dlopen{"dlopen"};
constinit Newer<int(void *), Library::Later> newer_dlclose{"dlclose"};
constinit Newer<char *(), Library::Later> newer_dlerror{"dlerror"};

} // namespace
} // namespace reap::older

using namespace reap::older;

extern "C" {

[[gnu::weak]] void *dlsym(void *handle, const char *name) noexcept {
    // Both look for the caller's object by the return address: one of this object, too.
    if (auto *const newer = newer_dlsym.get()) return newer(handle, name);
    const void *const found = handle == RTLD_NEXT ? reap::preload::exported_after_us(name) : find_newer(name);
    return const_cast<void *>(found);
}

[[gnu::weak]] void *dlopen(const char *file, int mode) {
    auto *const newer = newer_dlopen.get();
    return newer != nullptr ? newer(file, mode) : nullptr;
}

[[gnu::weak]] int dlclose(void *handle) {
    auto *const newer = newer_dlclose.get();
    return newer != nullptr ? newer(handle) : -1;
}

[[gnu::weak]] char *dlerror() noexcept {
    auto *const newer = newer_dlerror.get();
    return newer != nullptr ? newer() : nullptr;
}

} // extern "C"
