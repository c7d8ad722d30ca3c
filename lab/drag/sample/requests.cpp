// Interposes the program's memory calls on samples, which are shared where the program's memory would be
// private, and calls that affect all of its memory.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform.h"
#include "sampler.h"

using namespace reap::preload;
using reap::drag::sampler;

namespace {

int limit(pid_t process, int resource, const void *wanted, void *old) noexcept {
    // The limit counts reserved addresses.
    const auto *asked = static_cast<const rlimit *>(wanted);
    if (resource == RLIMIT_AS && asked != nullptr && asked->rlim_cur != RLIM_INFINITY &&
        (process == 0 || process == static_cast<pid_t>(syscall(SYS_getpid))))
        sampler.retreat();
    return static_cast<int>(syscall(SYS_prlimit64, process, resource, wanted, old));
}

} // namespace

// Private memory is zeroed by these; shared memory would keep its contents.
REAP_EXPORT int madvise(void *begin, size_t bytes, int advice) {
    if ((advice == MADV_DONTNEED || advice == MADV_FREE) && sampler.owns(begin)) {
        const ErrnoGuard keep;
        if (syscall(SYS_madvise, begin, bytes, MADV_REMOVE) == 0) return 0;
    }
    return static_cast<int>(syscall(SYS_madvise, begin, bytes, advice));
}

REAP_EXPORT int mprotect(void *begin, size_t bytes, int protection) {
    const long result = syscall(SYS_mprotect, begin, bytes, protection);
    if (result == 0 && sampler.owns(begin)) sampler.protect(begin, bytes, protection);
    return static_cast<int>(result);
}

// The kernel would populate all reserved addresses.
REAP_EXPORT int mlockall(int flags) {
    sampler.retreat();
    return static_cast<int>(syscall(SYS_mlockall, flags));
}

REAP_EXPORT int setrlimit(__rlimit_resource_t resource, const rlimit *wanted) {
    return limit(0, resource, wanted, nullptr);
}

REAP_EXPORT int setrlimit64(__rlimit_resource_t resource, const rlimit64 *wanted) {
    return limit(0, resource, wanted, nullptr);
}

REAP_EXPORT int prlimit(pid_t process, __rlimit_resource resource, const rlimit *wanted, rlimit *old) {
    return limit(process, resource, wanted, old);
}

REAP_EXPORT int prlimit64(pid_t process, __rlimit_resource resource, const rlimit64 *wanted, rlimit64 *old) {
    return limit(process, resource, wanted, old);
}
