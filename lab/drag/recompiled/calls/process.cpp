// The ends of a process that run no destructors, and the fork that runs no handlers.
#include <cstdlib>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine.h"
#include "next.h"
#include "platform.h"

using reap::drag::finish;
using reap::drag::resume;

namespace {

REAP_NEXT(next_exit, "_exit", void(int));
REAP_NEXT(next_execve, "execve", int(const char *, char *const *, char *const *));
REAP_NEXT(next_execv, "execv", int(const char *, char *const *));
REAP_NEXT(next_execvp, "execvp", int(const char *, char *const *));
REAP_NEXT(next_execvpe, "execvpe", int(const char *, char *const *, char *const *));
REAP_NEXT(next_fork, "_Fork", pid_t());

[[noreturn]] void leave(int status) noexcept {
    finish(REAP_DRAG_EXITED);
    next_exit(status);
    __builtin_unreachable();
}

// What is in use dies with the program, unless the call returns: then it did not.
template <class Execute, class... Arguments>
int replace_program(Execute &execute, Arguments... arguments) noexcept {
    finish(REAP_DRAG_EXEC);
    const int status = execute(arguments...);
    resume();
    return status;
}

} // namespace

REAP_EXPORT void _exit(int status) { leave(status); }
REAP_EXPORT void _Exit(int status) { leave(status); }

REAP_EXPORT int execve(const char *path, char *const *words, char *const *environment) {
    return replace_program(next_execve, path, words, environment);
}
REAP_EXPORT int execv(const char *path, char *const *words) {
    return replace_program(next_execv, path, words);
}
REAP_EXPORT int execvp(const char *file, char *const *words) {
    return replace_program(next_execvp, file, words);
}
REAP_EXPORT int execvpe(const char *file, char *const *words, char *const *environment) {
    return replace_program(next_execvpe, file, words, environment);
}

// The kernel would fill all slots, which the machine has no memory for: pages are locked as they are used.
REAP_EXPORT int mlockall(int flags) {
    if (reap::drag::records() && (flags & MCL_CURRENT) != 0) flags |= MCL_ONFAULT;
    return static_cast<int>(syscall(SYS_mlockall, flags));
}

REAP_EXPORT pid_t _Fork() {
    const pid_t child = next_fork();
    if (child == 0) reap::drag::forked();
    return child;
}
