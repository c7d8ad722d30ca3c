// dlopen without RTLD_DEEPBIND.
//
// A library opened with RTLD_DEEPBIND binds malloc to the C library that it depends on instead of a preload:
// its blocks are then freed by another allocator, or not recorded. Debian's php opens its extensions that
// way.
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "next.h"
#include "platform.h"

// Defined by the recorder. Weak, for libreap-exec.so.
extern "C" [[gnu::weak]] void reap_note_deepbind();
extern "C" [[gnu::weak]] void reap_before_load(const char *file);

namespace {

using namespace reap::preload;

// A record of libreap-probe.so with this as its executable and no files: see reap.launch.probe.
constexpr char kRecord[] = "0\0RTLD_DEEPBIND\0\0\0\0\0\0\0\0\0";

REAP_NEXT(next_dlopen, "dlopen", void *(const char *, int));

[[gnu::noinline, gnu::cold]] void report_deepbind() noexcept {
    const ErrnoGuard keep;
    if (reap_note_deepbind != nullptr) reap_note_deepbind();
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

// A tail call, so that the loader still sees the caller, whose search path it uses.
REAP_EXPORT void *dlopen(const char *file, int mode) {
    if (unlikely((mode & RTLD_DEEPBIND) != 0)) {
        mode &= ~RTLD_DEEPBIND;
        report_deepbind();
    }
    if (reap_before_load != nullptr) reap_before_load(file);
    return next_dlopen(file, mode);
}
