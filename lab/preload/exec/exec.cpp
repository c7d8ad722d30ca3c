/* libreap-exec.so: starts programs that our preloads cannot enter without them.
 *
 * A program for another C library (musl) or processor dies of LD_PRELOAD, or its loader complains on standard
 * error; so does the loader of any program in a root, or of a user, that cannot reach the preloads. So the
 * functions by which a process executes another look at the files first. This object comes last of those that
 * reap preloads: what stands before it in LD_PRELOAD, and itself, is taken out of the environment of such a
 * program. What the user preloads stays.
 *
 * Freestanding C++20: needs libc alone and allocates nothing; after vfork it writes to the stack alone.
 *
 * SPDX-License-Identifier: MIT
 */
#include <alloca.h>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "foreign.h"
#include "platform.h"
#include "reap_trace.h"

// The recorder's, where it is here. Weak, because a dlsym that finds nothing allocates its complaint.
extern "C" [[gnu::weak]] void reap_note_unrecorded(const char *path, uint32_t reason);

namespace {

using namespace reap::preload;

constexpr const char *kPreload = "LD_PRELOAD=";
constexpr size_t kPreloadLength = 11;
constexpr size_t kMostPath = 4096;

using Spawn = int (*)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
                      char *const[], char *const[]);

int (*real_execvpe)(const char *, char *const[], char *const[]);
int (*real_fexecve)(int, char *const[], char *const[]);
Spawn real_posix_spawn;
Spawn real_posix_spawnp;
const char *own_path = "";

template <class Function>
void find(Function &slot, const char *name) noexcept {
    slot = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

// At the start, because behind vfork and in handlers of signals nothing may be looked up any more.
[[gnu::constructor]] void start() {
    Dl_info self{};
    if (dladdr(reinterpret_cast<const void *>(&start), &self) != 0) own_path = self.dli_fname;
    find(real_execvpe, "execvpe");
    find(real_fexecve, "fexecve");
    find(real_posix_spawn, "posix_spawn");
    find(real_posix_spawnp, "posix_spawnp");
}

// What follows this object in a list of preloads; null where it is not in it.
const char *behind_ours(const char *list) noexcept {
    const size_t length = strlen(own_path);
    for (const char *at = list; *at != '\0';) {
        const size_t width = strcspn(at, ": ");
        const bool ours = width == length && strncmp(at, own_path, length) == 0;
        at += width;
        at += strspn(at, ": ");
        if (ours) return at;
    }
    return nullptr;
}

// What a list of preloads in an environment says; null where there is none.
const char *preloads_of(char *const *environment) noexcept {
    for (char *const *entry = environment; entry != nullptr && *entry != nullptr; ++entry) {
        if (strncmp(*entry, kPreload, kPreloadLength) == 0) return *entry + kPreloadLength;
    }
    return nullptr;
}

// Whether the loader could open a file, whose path is as long as `width`. Only where that is certain is it
// false.
bool can_open(const char *path, size_t width) noexcept {
    const ErrnoGuard keep;
    char name[kMostPath];
    if (width >= sizeof name) return true;
    memcpy(name, path, width);
    name[width] = '\0';
    const long file = syscall(SYS_openat, AT_FDCWD, name, O_RDONLY | O_CLOEXEC);
    if (file >= 0) close_quietly(static_cast<int>(file));
    return file >= 0 || (errno != ENOENT && errno != EACCES && errno != ENOTDIR);
}

// Whether our preloads are there for a program that is executed here: not in another root, and not for a
// user who may not read them.
bool within_reach(char *const *environment) noexcept {
    const char *list = preloads_of(environment);
    return list == nullptr || behind_ours(list) == nullptr || can_open(own_path, strlen(own_path));
}

// Copies what stays of a list of preloads without ours, behind which `rest` begins; returns the end. Of what
// stands before ours a program for another loader gets nothing. Any other gets what can be found: fakeroot
// and its like put themselves first.
char *copy_others(char *out, const char *list, const char *rest, Kind kind) noexcept {
    const char *const begin = out;
    for (const char *at = list; at < rest && kind != Kind::Foreign;) {
        const size_t width = strcspn(at, ": ");
        if (width != 0 && (*at != '/' || can_open(at, width))) {
            memcpy(out, at, width);
            out += width;
            *out++ = ':';
        }
        at += width;
        at += strspn(at, ": ");
    }
    const size_t length = strlen(rest);
    memcpy(out, rest, length);
    out += length;
    if (length == 0 && out != begin) --out; // the colon
    *out = '\0';
    return out;
}

size_t count_of(char *const *list) noexcept {
    size_t count = 0;
    while (list != nullptr && list[count] != nullptr) ++count;
    return count;
}

// What `execute` is called with in place of `environment`: the same without our preloads.
template <class Execute>
auto execute_without(Kind kind, char *const *environment, Execute execute) {
    const size_t count = count_of(environment);
    auto **changed = static_cast<char **>(alloca((count + 1) * sizeof(char *)));
    size_t kept = 0;
    for (size_t i = 0; i < count; ++i) {
        const char *entry = environment[i];
        const bool list = strncmp(entry, kPreload, kPreloadLength) == 0;
        const char *rest = list ? behind_ours(entry + kPreloadLength) : nullptr;
        if (rest == nullptr) {
            changed[kept++] = environment[i];
            continue;
        }
        auto *text = static_cast<char *>(alloca(strlen(entry) + 2));
        memcpy(text, kPreload, kPreloadLength);
        const char *end = copy_others(text + kPreloadLength, entry + kPreloadLength, rest, kind);
        if (end != text + kPreloadLength) changed[kept++] = text;
    }
    changed[kept] = nullptr;
    return execute(changed);
}

uint32_t reason_of(Kind kind) noexcept {
    if (kind == Kind::Foreign) return REAP_UNRECORDED_FOREIGN;
    return kind == Kind::Static ? REAP_UNRECORDED_NOT_LOADED : REAP_UNRECORDED_OUT_OF_REACH;
}

template <class Execute>
auto execute_as(Kind kind, const char *path, char *const *environment, Execute execute) {
    const bool reachable = kind == Kind::Foreign || within_reach(environment);
    if (kind == Kind::Ours && reachable) return execute(environment);
    if (reap_note_unrecorded != nullptr) reap_note_unrecorded(path, reason_of(kind));
    // A static program takes them to what it executes itself.
    if (kind == Kind::Static && reachable) return execute(environment);
    return execute_without(kind, environment, execute);
}

// Finds a program as execvp does. The path is in `found`; false where there is none.
bool find_in_path(const char *name, char (&found)[kMostPath]) noexcept {
    const ErrnoGuard keep;
    const size_t length = strlen(name);
    if (length >= kMostPath) return false;
    if (strchr(name, '/') != nullptr) {
        memcpy(found, name, length + 1);
        return true;
    }
    const char *folders = "/bin:/usr/bin"; // libc's own where PATH is not set
    for (char **entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        if (strncmp(*entry, "PATH=", 5) == 0) folders = *entry + 5;
    }
    for (;;) {
        const size_t width = strcspn(folders, ":");
        if (width + 1 + length < kMostPath) {
            memcpy(found, folders, width);
            found[width] = '/';
            memcpy(found + (width != 0 ? width + 1 : 0), name, length + 1);
            if (syscall(SYS_access, found, X_OK) == 0) return true;
        }
        if (folders[width] == '\0') return false;
        folders += width + 1;
    }
}

int execute_path(const char *path, char *const *words, char *const *environment) noexcept {
    return execute_as(kind_of(AT_FDCWD, path), path, environment, [=](char *const *variables) {
        return static_cast<int>(syscall(SYS_execve, path, words, variables));
    });
}

int execute_name(const char *name, char *const *words, char *const *environment) noexcept {
    char path[kMostPath];
    const Kind kind = find_in_path(name, path) ? kind_of(AT_FDCWD, path) : Kind::Ours;
    return execute_as(kind, path, environment,
                      [=](char *const *variables) { return real_execvpe(name, words, variables); });
}

} // namespace

REAP_EXPORT int execve(const char *path, char *const *words, char *const *environment) noexcept {
    return execute_path(path, words, environment);
}

REAP_EXPORT int execv(const char *path, char *const *words) noexcept {
    return execute_path(path, words, environ);
}

REAP_EXPORT int execvpe(const char *name, char *const *words, char *const *environment) noexcept {
    return execute_name(name, words, environment);
}

REAP_EXPORT int execvp(const char *name, char *const *words) noexcept {
    return execute_name(name, words, environ);
}

REAP_EXPORT int execveat(int directory, const char *path, char *const *words, char *const *environment,
                         int flags) noexcept {
    // Without a path it is the descriptor itself that is executed, and openat() does not know that.
    const Kind kind = *path != '\0' ? kind_of(directory, path) : Kind::Ours;
    return execute_as(kind, path, environment, [=](char *const *variables) {
        return static_cast<int>(syscall(SYS_execveat, directory, path, words, variables, flags));
    });
}

REAP_EXPORT int fexecve(int file, char *const *words, char *const *environment) noexcept {
    char path[32] = "/proc/self/fd/";
    char digits[12];
    size_t count = 0;
    for (auto left = static_cast<unsigned>(file); left != 0 || count == 0; left /= 10) {
        digits[count++] = static_cast<char>('0' + left % 10);
    }
    size_t length = strlen(path);
    while (count > 0) path[length++] = digits[--count];
    path[length] = '\0';
    return execute_as(kind_of(AT_FDCWD, path), path, environment,
                      [=](char *const *variables) { return real_fexecve(file, words, variables); });
}

// The words of a call with a list of them, ended by a null, on the stack.
#define REAP_WORDS(first, list, words)                                                                       \
    va_list list;                                                                                            \
    va_start(list, first);                                                                                   \
    size_t count = 0;                                                                                        \
    for (const char *word = first; word != nullptr; word = va_arg(list, const char *)) ++count;              \
    va_end(list);                                                                                            \
    auto **words = static_cast<char **>(alloca((count + 1) * sizeof(char *)));                               \
    words[0] = const_cast<char *>(first);                                                                    \
    va_start(list, first);                                                                                   \
    for (size_t i = 1; i <= count; ++i) words[i] = va_arg(list, char *)

REAP_EXPORT int execl(const char *path, const char *first, ...) noexcept {
    REAP_WORDS(first, list, words);
    va_end(list);
    return execute_path(path, words, environ);
}

REAP_EXPORT int execlp(const char *name, const char *first, ...) noexcept {
    REAP_WORDS(first, list, words);
    va_end(list);
    return execute_name(name, words, environ);
}

REAP_EXPORT int execle(const char *path, const char *first, ...) noexcept {
    REAP_WORDS(first, list, words);
    char *const *environment = va_arg(list, char *const *);
    va_end(list);
    return execute_path(path, words, environment);
}

REAP_EXPORT int posix_spawn(pid_t *process, const char *path, const posix_spawn_file_actions_t *actions,
                            const posix_spawnattr_t *attributes, char *const *words,
                            char *const *environment) {
    return execute_as(kind_of(AT_FDCWD, path), path, environment, [=](char *const *variables) {
        return real_posix_spawn(process, path, actions, attributes, words, variables);
    });
}

REAP_EXPORT int posix_spawnp(pid_t *process, const char *name, const posix_spawn_file_actions_t *actions,
                             const posix_spawnattr_t *attributes, char *const *words,
                             char *const *environment) {
    char path[kMostPath];
    const Kind kind = find_in_path(name, path) ? kind_of(AT_FDCWD, path) : Kind::Ours;
    return execute_as(kind, path, environment, [=](char *const *variables) {
        return real_posix_spawnp(process, name, actions, attributes, words, variables);
    });
}
