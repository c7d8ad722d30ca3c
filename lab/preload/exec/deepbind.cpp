// dlopen without RTLD_DEEPBIND.
//
// A library that is opened so takes malloc from the C library that it depends on, and not from a preload:
// what it allocates is then freed by another allocator, or is not recorded. Debian's php opens its extensions
// so.
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform.h"

namespace {

using namespace reap::preload;

// A record as libreap-probe.so writes them, with this as its executable and no files: see reap.launch.probe.
constexpr char kRecord[] = "0\0RTLD_DEEPBIND\0\0\0\0\0\0\0\0\0";

void *(*real_dlopen)(const char *, int);
void (*note_deepbind)(); // the recorder's, where it is here

template <class Function>
Function find(Function &slot, void *handle, const char *name) noexcept {
    if (slot == nullptr) slot = reinterpret_cast<Function>(dlsym(handle, name));
    return slot;
}

[[gnu::noinline, gnu::cold]] void say_so() noexcept {
    const ErrnoGuard keep;
    if (find(note_deepbind, RTLD_DEFAULT, "reap_note_deepbind") != nullptr) note_deepbind();
    for (char *const *entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        if (strncmp(*entry, "REAP_PROBE=", 11) != 0) continue;
        const long file = syscall(SYS_openat, AT_FDCWD, *entry + 11, O_WRONLY | O_APPEND | O_CLOEXEC);
        if (file < 0) return;
        syscall(SYS_write, file, kRecord, sizeof kRecord - 1);
        close_quietly(static_cast<int>(file));
        return;
    }
}

} // namespace

// By a jump, so that the loader still sees who asks: its search path is the caller's.
REAP_EXPORT void *dlopen(const char *file, int mode) {
    if (unlikely((mode & RTLD_DEEPBIND) != 0)) {
        mode &= ~RTLD_DEEPBIND;
        say_so();
    }
    return find(real_dlopen, RTLD_NEXT, "dlopen")(file, mode);
}
