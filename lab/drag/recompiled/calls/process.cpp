// The ends of a process that run no destructors, and the fork that runs no handlers.
#include <cstdlib>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine.h"
#include "platform.h"
#include "real.h"

using reap::drag::finish;
using reap::drag::resume;
using reap::preload::next_symbol;

#define REAP_LEAVE(name)                                                                                     \
    REAP_EXPORT void name(int status) {                                                                      \
        finish(REAP_DRAG_EXITED);                                                                            \
        reinterpret_cast<void (*)(int)>(next_symbol(#name))(status);                                         \
        __builtin_unreachable();                                                                             \
    }
REAP_LEAVE(_exit)
REAP_LEAVE(_Exit)

namespace {

// What is in use dies with the program, unless the call returns: then it did not.
template <class... Arguments>
int replace_program(const char *name, Arguments... arguments) noexcept {
    finish(REAP_DRAG_EXEC);
    const int status = reinterpret_cast<int (*)(Arguments...)>(next_symbol(name))(arguments...);
    resume();
    return status;
}

} // namespace

REAP_EXPORT int execve(const char *path, char *const *words, char *const *environment) {
    return replace_program("execve", path, words, environment);
}
REAP_EXPORT int execv(const char *path, char *const *words) { return replace_program("execv", path, words); }
REAP_EXPORT int execvp(const char *file, char *const *words) {
    return replace_program("execvp", file, words);
}
REAP_EXPORT int execvpe(const char *file, char *const *words, char *const *environment) {
    return replace_program("execvpe", file, words, environment);
}

// The kernel would fill all slots, which the machine has no memory for: pages are locked as they are used.
REAP_EXPORT int mlockall(int flags) {
    if (reap::drag::records() && (flags & MCL_CURRENT) != 0) flags |= MCL_ONFAULT;
    return static_cast<int>(syscall(SYS_mlockall, flags));
}

REAP_EXPORT pid_t _Fork() {
    const pid_t child = reinterpret_cast<pid_t (*)()>(next_symbol("_Fork"))();
    if (child == 0) reap::drag::forked();
    return child;
}
