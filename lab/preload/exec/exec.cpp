/* Keeps our preloads in the environment of programs that can load them, and out of that of others.
 *
 * A program that is started with another environment is given our preloads back, in front of its own: see
 * environment_kept.h. The recording is told beforehand which program its process becomes, so that one of
 * which nothing is recorded is known, however soon it ends.
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

#include "environment_kept.h"
#include "foreign.h"
#include "next.h"
#include "platform.h"
#include "reap_trace.h"

// Defined by the recorder. Weak, for libreap-exec.so.
extern "C" [[gnu::weak]] void reap_note_unrecorded(pid_t process, const char *path, uint32_t reason);

namespace {

using namespace reap::preload;

constexpr const char *kLastPreload = "REAP_LAST_PRELOAD"; // for the recorder, from reap.launch.spawn

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
    if (dladdr(reinterpret_cast<const void *>(&start), &self) != 0) save_environment(self.dli_fname);
    const char *last = getenv(kLastPreload);
    const size_t size = last != nullptr ? strlen(last) + 1 : 0;
    if (size != 0 && size <= sizeof copy) {
        memcpy(copy, last, size);
        last_path = copy;
    } else if (self.dli_fname != nullptr) {
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

// Calls `execute` with a copy of `environment` that has our preloads again.
template <class Execute>
auto execute_restored(char *const *environment, Execute execute) {
    const Room room = room_to_restore(environment);
    auto **entries = static_cast<char **>(alloca(room.entries * sizeof(char *)));
    restore(environment, entries, static_cast<char *>(alloca(room.bytes)));
    return execute(entries);
}

uint32_t reason_of(Kind kind) noexcept {
    if (kind == Kind::Foreign) return REAP_UNRECORDED_FOREIGN;
    if (kind == Kind::Sanitized) return REAP_UNRECORDED_SANITIZED;
    return kind == Kind::Static ? REAP_UNRECORDED_NOT_LOADED : REAP_UNRECORDED_OUT_OF_REACH;
}

void note(pid_t process, const char *path, uint32_t reason) noexcept {
    const ErrnoGuard keep;
    if (reap_note_unrecorded != nullptr) reap_note_unrecorded(process, path, reason);
}

// Tells the recording of a program that replaces the calling process: before, and again if it did not.
struct InPlace {
    void before(const char *path, uint32_t reason) const noexcept { note(0, path, reason); }
    void after(int, const char *path, uint32_t) const noexcept { note(0, path, REAP_UNRECORDED_FAILED); }
};

// Tells it of a program in a process of its own, once there is one.
struct AsChild {
    const pid_t *process;
    void before(const char *, uint32_t) const noexcept {}
    void after(int error, const char *path, uint32_t reason) const noexcept {
        if (error == 0) note(*process, path, reason);
    }
};

template <class Way, class Execute>
int execute_noted(Way way, const char *path, uint32_t reason, Execute execute) {
    way.before(path, reason);
    const int result = execute();
    way.after(result, path, reason);
    return result;
}

template <class Way, class Execute>
int execute_as(Way way, Kind kind, const char *path, char *const *environment, Execute execute) {
    // As ldd does: the loader lists the libraries and runs nothing, and ours would be in the list.
    if (kind == Kind::Lists || find_value(environment, "LD_TRACE_LOADED_OBJECTS=") != nullptr)
        return execute_without_preloads(Kind::Foreign, environment, execute);
    uint32_t reason = kind == Kind::Ours ? uint32_t{REAP_UNRECORDED_EXPECTED} : reason_of(kind);
    // A static program passes them on to the programs that it executes.
    const bool takes = kind == Kind::Ours || kind == Kind::Static;
    if (takes && lacks_ours(environment)) {
        const Restorable found = restorable();
        if (found == Restorable::Yes) {
            return execute_noted(way, path, reason, [&] { return execute_restored(environment, execute); });
        }
        reason = found == Restorable::Forbidden ? uint32_t{REAP_UNRECORDED_NOT_LOADED}
                                                : uint32_t{REAP_UNRECORDED_OUT_OF_REACH};
    }
    if (takes && preloads_reachable(environment))
        return execute_noted(way, path, reason, [&] { return execute(environment); });
    if (kind == Kind::Ours) reason = REAP_UNRECORDED_OUT_OF_REACH;
    return execute_noted(way, path, reason,
                         [&] { return execute_without_preloads(kind, environment, execute); });
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

// Makes the system call itself: `syscall` leads back here, see raw.cpp. Returns only if it fails.
template <class... Words>
int executed(long number, Words... words) noexcept {
    errno = static_cast<int>(-raw_call(number, words...));
    return -1;
}

int execute_path(const char *path, char *const *argv, char *const *environment) noexcept {
    return execute_as(InPlace{}, kind_of(AT_FDCWD, path, argv), path, environment,
                      [=](char *const *variables) {
                          return executed(SYS_execve, reinterpret_cast<long>(path),
                                          reinterpret_cast<long>(argv), reinterpret_cast<long>(variables));
                      });
}

int execute_name(const char *name, char *const *argv, char *const *environment) noexcept {
    char path[kMaxPath];
    const bool found = find_in_path(name, path);
    const Kind kind = found ? kind_of(AT_FDCWD, path, argv) : Kind::Ours;
    return execute_as(InPlace{}, kind, found ? path : name, environment,
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
    return execute_as(InPlace{}, kind, path, environment, [=](char *const *variables) {
        return executed(SYS_execveat, directory, reinterpret_cast<long>(path), reinterpret_cast<long>(argv),
                        reinterpret_cast<long>(variables), flags);
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
    return execute_as(InPlace{}, kind_of(AT_FDCWD, path, argv), path, environment,
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
    pid_t started = 0;
    if (process == nullptr) process = &started;
    const Kind kind = kind_of(AT_FDCWD, path, argv);
    return execute_as(AsChild{process}, kind, path, environment, [=](char *const *variables) {
        return real_posix_spawn(process, path, actions, attributes, argv, variables);
    });
}

REAP_EXPORT int posix_spawnp(pid_t *process, const char *name, const posix_spawn_file_actions_t *actions,
                             const posix_spawnattr_t *attributes, char *const *argv,
                             char *const *environment) {
    pid_t started = 0;
    if (process == nullptr) process = &started;
    char path[kMaxPath];
    const bool found = find_in_path(name, path);
    const Kind kind = found ? kind_of(AT_FDCWD, path, argv) : Kind::Ours;
    return execute_as(AsChild{process}, kind, found ? path : name, environment, [=](char *const *variables) {
        return real_posix_spawnp(process, name, actions, attributes, argv, variables);
    });
}
