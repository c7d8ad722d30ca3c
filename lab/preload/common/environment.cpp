#include "environment.h"

#include <cstring>
#include <dlfcn.h>

#include "reap_litter.h"

namespace reap::preload {
namespace {

constexpr const char *kPreload = "LD_PRELOAD";

char **find_entry(char **environment, const char *name) noexcept {
    const size_t length = strlen(name);
    for (char **entry = environment; *entry != nullptr; ++entry) {
        if (strncmp(*entry, name, length) == 0 && (*entry)[length] == '=') return entry;
    }
    return nullptr;
}

void remove_entry(char **entry) noexcept {
    for (; *entry != nullptr; ++entry) entry[0] = entry[1];
}

// Removes `word` from a list separated by colons or blanks, with the separator that follows it.
void remove_word(char *list, const char *word) noexcept {
    const size_t length = strlen(word);
    for (char *at = list; *at != '\0';) {
        const size_t width = strcspn(at, ": ");
        if (width == length && strncmp(at, word, length) == 0) {
            const char *rest = at + width + (at[width] != '\0' ? 1 : 0);
            memmove(at, rest, strlen(rest) + 1);
            return;
        }
        at += width;
        if (*at != '\0') ++at;
    }
}

// Removes the first word if it names libreap-exec.so, which has no preload of ours left to hide from
// programs.
void remove_leading_guard(char *list) noexcept {
    constexpr const char *kGuard = "/libreap-exec.so";
    const size_t length = strlen(kGuard);
    const size_t width = strcspn(list, ": ");
    if (width < length || strncmp(list + width - length, kGuard, length) != 0) return;
    const char *rest = list + width + (list[width] != '\0' ? 1 : 0);
    memmove(list, rest, strlen(rest) + 1);
}

} // namespace

const char *find_variable(char **environment, const char *name) noexcept {
    char **entry = find_entry(environment, name);
    return entry != nullptr ? *entry + strlen(name) + 1 : nullptr;
}

void remove_traces(char **environment) noexcept {
    if (char **entry = find_entry(environment, REAP_LITTER_ENV)) remove_entry(entry);
    char **entry = find_entry(environment, kPreload);
    Dl_info self{};
    if (entry == nullptr || dladdr(reinterpret_cast<const void *>(&remove_traces), &self) == 0) return;
    char *list = *entry + strlen(kPreload) + 1;
    remove_word(list, self.dli_fname);
    remove_leading_guard(list);
    if (*list == '\0') remove_entry(entry);
}

} // namespace reap::preload
