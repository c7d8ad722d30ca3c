/* Removes our preloads from the environment of programs that cannot load them.
 *
 * A program for another C library (musl) or CPU architecture fails with LD_PRELOAD set, or its loader prints
 * an error; so does the loader of any program whose root directory or user cannot access the preloads. A
 * program with a sanitizer ends, or finds nothing, if the sanitizer's runtime does not come first.
 * Therefore the exec functions inspect the file first. The last object that reap preloads and everything
 * before it in LD_PRELOAD is removed for such a program. The user's own preloads stay.
 *
 * This is a part of the recorder, since each object costs a program that forks, and where nothing is recorded
 * libreap-exec.so, the last that reap preloads.
 *
 * Freestanding C++20: depends on libc only and allocates nothing; after vfork it writes only to the stack.
 *
 * SPDX-License-Identifier: MIT
 */
#include <alloca.h>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "foreign.h"
#include "next.h"
#include "platform.h"
#include "reap_trace.h"

// Defined by the recorder. Weak, for libreap-exec.so.
extern "C" [[gnu::weak]] void reap_note_unrecorded(const char *path, uint32_t reason);

namespace {

using namespace reap::preload;

constexpr const char *kPreload = "LD_PRELOAD=";
constexpr size_t kPreloadLength = 11;
constexpr const char *kLastPreload = "REAP_LAST_PRELOAD"; // for the recorder, from reap.launch.spawn
constexpr size_t kMaxPath = 4096;

using Spawn = int(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
                  char *const[], char *const[]);

REAP_NEXT(real_execvpe, "execvpe", int(const char *, char *const[], char *const[]));
REAP_NEXT(real_fexecve, "fexecve", int(int, char *const[], char *const[]));
REAP_NEXT(real_posix_spawn, "posix_spawn", Spawn);
REAP_NEXT(real_posix_spawnp, "posix_spawnp", Spawn);
const char *last_path = ""; // of the last object that reap preloads

// At startup, because symbols must not be looked up after vfork or in signal handlers.
[[gnu::constructor]] void start() {
    static char copy[kMaxPath]; // programs overwrite their environment to show a title
    Dl_info self{};
    const char *last = getenv(kLastPreload);
    const size_t size = last != nullptr ? strlen(last) + 1 : 0;
    if (size != 0 && size <= sizeof copy) {
        memcpy(copy, last, size);
        last_path = copy;
    } else if (dladdr(reinterpret_cast<const void *>(&start), &self) != 0) {
        last_path = self.dli_fname;
    }
}

// What follows our last object in a list of preloads; null if it is not in the list.
const char *after_ours(const char *list) noexcept {
    const size_t length = strlen(last_path);
    for (const char *at = list; *at != '\0';) {
        const size_t width = strcspn(at, ": ");
        const bool ours = width == length && strncmp(at, last_path, length) == 0;
        at += width;
        at += strspn(at, ": ");
        if (ours) return at;
    }
    return nullptr;
}

// The value of a variable, whose name ends in =, in an environment; null if it is not set.
const char *find_value(char *const *environment, const char *name) noexcept {
    const size_t length = strlen(name);
    for (char *const *entry = environment; entry != nullptr && *entry != nullptr; ++entry) {
        if (strncmp(*entry, name, length) == 0) return *entry + length;
    }
    return nullptr;
}

// Whether the loader could open the file whose path has `width` characters. False only if it certainly
// cannot.
bool can_open(const char *path, size_t width) noexcept {
    const ErrnoGuard keep;
    char name[kMaxPath];
    if (width >= sizeof name) return true;
    memcpy(name, path, width);
    name[width] = '\0';
    const long file = syscall(SYS_openat, AT_FDCWD, name, O_RDONLY | O_CLOEXEC);
    if (file >= 0) close_quietly(static_cast<int>(file));
    return file >= 0 || (errno != ENOENT && errno != EACCES && errno != ENOTDIR);
}

// Whether a program that is executed here can access our preloads: not in another root directory, and not as
// a user who may not read them.
bool preloads_reachable(char *const *environment) noexcept {
    const char *list = find_value(environment, kPreload);
    return list == nullptr || after_ours(list) == nullptr || can_open(last_path, strlen(last_path));
}

// Whether a program must not get our preloads, although it can access them.
bool refuses(Kind kind) noexcept { return kind == Kind::Foreign || kind == Kind::Sanitized; }

// Copies a list of preloads without ours; `rest` is what follows them. Returns the end. A program that must
// not get them gets nothing of what precedes ours; any other program gets those that can be opened, as
// fakeroot and others put themselves first.
char *copy_others(char *out, const char *list, const char *rest, Kind kind) noexcept {
    const char *const begin = out;
    for (const char *at = list; at < rest && !refuses(kind);) {
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

size_t count_entries(char *const *list) noexcept {
    size_t count = 0;
    while (list != nullptr && list[count] != nullptr) ++count;
    return count;
}

// Calls `execute` with a copy of `environment` without our preloads.
template <class Execute>
auto execute_without_preloads(Kind kind, char *const *environment, Execute execute) {
    const size_t count = count_entries(environment);
    auto **changed = static_cast<char **>(alloca((count + 1) * sizeof(char *)));
    size_t kept = 0;
    for (size_t i = 0; i < count; ++i) {
        const char *entry = environment[i];
        const bool list = strncmp(entry, kPreload, kPreloadLength) == 0;
        const char *rest = list ? after_ours(entry + kPreloadLength) : nullptr;
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
    if (kind == Kind::Sanitized) return REAP_UNRECORDED_SANITIZED;
    return kind == Kind::Static ? REAP_UNRECORDED_NOT_LOADED : REAP_UNRECORDED_OUT_OF_REACH;
}

template <class Execute>
auto execute_as(Kind kind, const char *path, char *const *environment, Execute execute) {
    // As ldd does: the loader lists the libraries and runs nothing, and ours would be in the list.
    if (kind == Kind::Lists || find_value(environment, "LD_TRACE_LOADED_OBJECTS=") != nullptr)
        return execute_without_preloads(Kind::Foreign, environment, execute);
    const bool reachable = refuses(kind) || preloads_reachable(environment);
    if (kind == Kind::Ours && reachable) return execute(environment);
    if (reap_note_unrecorded != nullptr) reap_note_unrecorded(path, reason_of(kind));
    // A static program passes them on to the programs that it executes.
    if (kind == Kind::Static && reachable) return execute(environment);
    return execute_without_preloads(kind, environment, execute);
}

// Finds a program as execvp does and stores its path in `found`; false if there is none.
bool find_in_path(const char *name, char (&found)[kMaxPath]) noexcept {
    const ErrnoGuard keep;
    const size_t length = strlen(name);
    if (length >= kMaxPath) return false;
    if (strchr(name, '/') != nullptr) {
        memcpy(found, name, length + 1);
        return true;
    }
    const char *folders = "/bin:/usr/bin"; // libc's default if PATH is not set
    for (char **entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        if (strncmp(*entry, "PATH=", 5) == 0) folders = *entry + 5;
    }
    for (;;) {
        const size_t width = strcspn(folders, ":");
        if (width + 1 + length < kMaxPath) {
            memcpy(found, folders, width);
            found[width] = '/';
            memcpy(found + (width != 0 ? width + 1 : 0), name, length + 1);
            if (syscall(SYS_faccessat, AT_FDCWD, found, X_OK) == 0) return true;
        }
        if (folders[width] == '\0') return false;
        folders += width + 1;
    }
}

int execute_path(const char *path, char *const *argv, char *const *environment) noexcept {
    return execute_as(kind_of(AT_FDCWD, path, argv), path, environment, [=](char *const *variables) {
        return static_cast<int>(syscall(SYS_execve, path, argv, variables));
    });
}

int execute_name(const char *name, char *const *argv, char *const *environment) noexcept {
    char path[kMaxPath];
    const Kind kind = find_in_path(name, path) ? kind_of(AT_FDCWD, path, argv) : Kind::Ours;
    return execute_as(kind, path, environment,
                      [=](char *const *variables) { return real_execvpe(name, argv, variables); });
}

} // namespace

REAP_EXPORT int execve(const char *path, char *const *argv, char *const *environment) noexcept {
    return execute_path(path, argv, environment);
}

REAP_EXPORT int execv(const char *path, char *const *argv) noexcept {
    return execute_path(path, argv, environ);
}

REAP_EXPORT int execvpe(const char *name, char *const *argv, char *const *environment) noexcept {
    return execute_name(name, argv, environment);
}

REAP_EXPORT int execvp(const char *name, char *const *argv) noexcept {
    return execute_name(name, argv, environ);
}

REAP_EXPORT int execveat(int directory, const char *path, char *const *argv, char *const *environment,
                         int flags) noexcept {
    // With an empty path the descriptor itself is executed, which openat() does not support.
    const Kind kind = *path != '\0' ? kind_of(directory, path, argv) : Kind::Ours;
    return execute_as(kind, path, environment, [=](char *const *variables) {
        return static_cast<int>(syscall(SYS_execveat, directory, path, argv, variables, flags));
    });
}

REAP_EXPORT int fexecve(int file, char *const *argv, char *const *environment) noexcept {
    char path[32] = "/proc/self/fd/";
    char digits[12];
    size_t count = 0;
    for (auto left = static_cast<unsigned>(file); left != 0 || count == 0; left /= 10) {
        digits[count++] = static_cast<char>('0' + left % 10);
    }
    size_t length = strlen(path);
    while (count > 0) path[length++] = digits[--count];
    path[length] = '\0';
    return execute_as(kind_of(AT_FDCWD, path, argv), path, environment,
                      [=](char *const *variables) { return real_fexecve(file, argv, variables); });
}

// Builds argv on the stack from a null-terminated variadic list.
#define REAP_ARGV(first, list, argv)                                                                         \
    va_list list;                                                                                            \
    va_start(list, first);                                                                                   \
    size_t count = 0;                                                                                        \
    for (const char *word = first; word != nullptr; word = va_arg(list, const char *)) ++count;              \
    va_end(list);                                                                                            \
    auto **argv = static_cast<char **>(alloca((count + 1) * sizeof(char *)));                                \
    argv[0] = const_cast<char *>(first);                                                                     \
    va_start(list, first);                                                                                   \
    for (size_t i = 1; i <= count; ++i) argv[i] = va_arg(list, char *)

REAP_EXPORT int execl(const char *path, const char *first, ...) noexcept {
    REAP_ARGV(first, list, argv);
    va_end(list);
    return execute_path(path, argv, environ);
}

REAP_EXPORT int execlp(const char *name, const char *first, ...) noexcept {
    REAP_ARGV(first, list, argv);
    va_end(list);
    return execute_name(name, argv, environ);
}

REAP_EXPORT int execle(const char *path, const char *first, ...) noexcept {
    REAP_ARGV(first, list, argv);
    char *const *environment = va_arg(list, char *const *);
    va_end(list);
    return execute_path(path, argv, environment);
}

REAP_EXPORT int posix_spawn(pid_t *process, const char *path, const posix_spawn_file_actions_t *actions,
                            const posix_spawnattr_t *attributes, char *const *argv,
                            char *const *environment) {
    return execute_as(kind_of(AT_FDCWD, path, argv), path, environment, [=](char *const *variables) {
        return real_posix_spawn(process, path, actions, attributes, argv, variables);
    });
}

REAP_EXPORT int posix_spawnp(pid_t *process, const char *name, const posix_spawn_file_actions_t *actions,
                             const posix_spawnattr_t *attributes, char *const *argv,
                             char *const *environment) {
    char path[kMaxPath];
    const Kind kind = find_in_path(name, path) ? kind_of(AT_FDCWD, path, argv) : Kind::Ours;
    return execute_as(kind, path, environment, [=](char *const *variables) {
        return real_posix_spawnp(process, name, actions, attributes, argv, variables);
    });
}
