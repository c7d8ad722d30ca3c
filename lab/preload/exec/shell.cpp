// system, popen and wordexp, whose shell the C library starts past our exec functions.
//
// It gets the environment of this process. Where that has lost our preloads, the shell and what it starts are
// not measured, which is noted: none of them can be told another environment.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>
#include <wordexp.h>

#include "environment_kept.h"
#include "next.h"
#include "platform.h"
#include "reap_trace.h"

// Defined by the recorder. Weak, for libreap-exec.so.
extern "C" [[gnu::weak]] void reap_note_unrecorded(pid_t process, const char *path, uint32_t reason);

namespace {

using namespace reap::preload;

REAP_NEXT(real_system, "system", int(const char *));
REAP_NEXT(real_popen, "popen", FILE *(const char *, const char *));
REAP_NEXT(real_wordexp, "wordexp", int(const char *, wordexp_t *, int));

void note_shell() noexcept {
    const ErrnoGuard keep;
    if (reap_note_unrecorded != nullptr && lacks_ours(environ))
        reap_note_unrecorded(0, "/bin/sh", REAP_UNRECORDED_NOT_LOADED);
}

} // namespace

REAP_EXPORT int system(const char *command) {
    if (command != nullptr) note_shell();
    return real_system(command);
}

REAP_EXPORT FILE *popen(const char *command, const char *mode) {
    note_shell();
    return real_popen(command, mode);
}

REAP_EXPORT int wordexp(const char *words, wordexp_t *result, int flags) {
    const bool commands = strchr(words, '`') != nullptr || strstr(words, "$(") != nullptr;
    if (commands && (flags & WRDE_NOCMD) == 0) note_shell();
    return real_wordexp(words, result, flags);
}
