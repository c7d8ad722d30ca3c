#include "environment_kept.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform.h"
#include "reap_requests.h"
#include "reap_resident.h"
#include "reap_trace.h"

namespace reap::preload {
namespace {

constexpr const char *kSeparators = ": ";

constexpr const char *kList = "REAP_PRELOADS="; // from reap.launch.spawn
constexpr const char *kLast = "REAP_LAST_PRELOAD=";
constexpr const char *kVariables[] = {REAP_TRACE_ENV "=",
                                      REAP_SOCKET_ENV "=",
                                      REAP_REQUESTS_ENV "=",
                                      REAP_RESIDENT_ENV "=",
                                      REAP_RESIDENT_TRIM_ENV "=",
                                      "REAP_PROBE=",
                                      kLast,
                                      kList};
constexpr size_t kCount = sizeof kVariables / sizeof kVariables[0];

constinit char saved[4 * kMaxPath];   // programs overwrite their environment to show a title
constinit const char *values[kCount]; // of kVariables; null: not set
const char *own = nullptr;            // this object; null: nothing is saved

// The preloads that are put back, separated by colons; empty: none are.
const char *list_to_restore() noexcept {
    const char *list = values[kCount - 1];
    return list != nullptr ? list : "";
}

// Calls `use` with each word of a list and its length, while it returns true; whether it always did.
template <class Use>
bool all_words(const char *list, Use use) noexcept {
    for (const char *at = list; *at != '\0';) {
        const size_t width = strcspn(at, kSeparators);
        if (width != 0 && !use(at, width)) return false;
        at += width != 0 ? width : 1;
    }
    return true;
}

bool has_word(const char *list, const char *word, size_t length) noexcept {
    return !all_words(list, [word, length](const char *at, size_t width) {
        return width != length || strncmp(at, word, length) != 0;
    });
}

bool has_ours(const char *list) noexcept {
    return has_word(list, own, strlen(own)) &&
           all_words(list_to_restore(),
                     [list](const char *word, size_t width) { return has_word(list, word, width); });
}

char *append(char *out, const char *text, size_t length) noexcept {
    memcpy(out, text, length);
    return out + length;
}

// Our preloads, then those of `list` that are not ours.
char *put_preloads(char *out, const char *list) noexcept {
    const char *ours = list_to_restore();
    out = append(out, kPreload, kPreloadLength);
    out = append(out, ours, strlen(ours));
    all_words(list, [&](const char *word, size_t width) {
        if (has_word(ours, word, width)) return true;
        *out++ = ':';
        out = append(out, word, width);
        return true;
    });
    *out++ = '\0';
    return out;
}

// The last word of our list: what precedes it in an environment, and itself, is ours.
const char *last_of_ours() noexcept {
    const char *colon = strrchr(list_to_restore(), ':');
    return colon != nullptr ? colon + 1 : list_to_restore();
}

bool starts_with(const char *text, const char *prefix) noexcept {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

// Whether the last object that reap preloaded into this program, perhaps an allocator, is in none of the
// lists of preloads.
bool lost_last(char *const *environment) noexcept {
    const char *list = find_value(environment, kPreload);
    const char *last = values[kCount - 2];
    return last != nullptr && (list == nullptr || !has_word(list, last, strlen(last)));
}

} // namespace

const char *find_value(char *const *environment, const char *name) noexcept {
    const size_t length = strlen(name);
    for (char *const *entry = environment; entry != nullptr && *entry != nullptr; ++entry) {
        if (strncmp(*entry, name, length) == 0) return *entry + length;
    }
    return nullptr;
}

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

void save_environment(const char *own_path) noexcept {
    const char *list = find_value(environ, kPreload);
    if (list == nullptr || !has_word(list, own_path, strlen(own_path))) return; // preloaded by another way
    size_t used = 0;
    for (size_t i = 0; i < kCount; ++i) {
        const char *value = find_value(environ, kVariables[i]);
        const size_t size = value != nullptr ? strlen(value) + 1 : 0;
        if (size == 0 || size > sizeof saved - used) continue;
        values[i] = static_cast<const char *>(memcpy(saved + used, value, size));
        used += size;
    }
    own = own_path;
}

bool lacks_ours(char *const *environment) noexcept {
    if (own == nullptr) return false;
    const char *list = find_value(environment, kPreload);
    if (list == nullptr || !has_ours(list)) return true;
    for (size_t i = 0; i < kCount; ++i) {
        if (values[i] != nullptr && find_value(environment, kVariables[i]) == nullptr) return true;
    }
    return false;
}

Restorable restorable() noexcept {
    if (*list_to_restore() == '\0') return Restorable::Forbidden;
    return all_words(list_to_restore(), can_open) ? Restorable::Yes : Restorable::OutOfReach;
}

Room room_to_restore(char *const *environment) noexcept {
    Room room{kCount + 2, kPreloadLength + strlen(list_to_restore()) + 2};
    for (char *const *entry = environment; entry != nullptr && *entry != nullptr; ++entry) {
        ++room.entries;
        if (starts_with(*entry, kPreload)) room.bytes += strlen(*entry) + strlen(list_to_restore()) + 2;
    }
    for (size_t i = 0; i < kCount; ++i) {
        room.bytes += strlen(kVariables[i]) + (values[i] != nullptr ? strlen(values[i]) : 0) + 1;
    }
    room.bytes += strlen(kLast) + strlen(last_of_ours()) + 1;
    return room;
}

void restore(char *const *environment, char **entries, char *text) noexcept {
    const bool names_last = !lost_last(environment);
    bool listed = false;
    for (char *const *entry = environment; entry != nullptr && *entry != nullptr; ++entry) {
        if (starts_with(*entry, kPreload)) {
            listed = true;
            *entries++ = text;
            text = put_preloads(text, *entry + kPreloadLength);
        } else if (names_last || !starts_with(*entry, kLast)) {
            *entries++ = *entry;
        }
    }
    if (!listed) {
        *entries++ = text;
        text = put_preloads(text, "");
    }
    for (size_t i = 0; i < kCount; ++i) {
        const bool last = i == kCount - 2;
        const bool absent = find_value(environment, kVariables[i]) == nullptr || (last && !names_last);
        if (values[i] == nullptr || !absent) continue;
        const char *value = last && !names_last ? last_of_ours() : values[i];
        *entries++ = text;
        text = append(text, kVariables[i], strlen(kVariables[i]));
        text = append(text, value, strlen(value) + 1);
    }
    *entries = nullptr;
}

} // namespace reap::preload
