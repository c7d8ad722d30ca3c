#include "inherited.h"

#include <cstring>
#include <fcntl.h>
#include <sys/syscall.h>

namespace reap::preload {

Mapping mappings[kMostMappings];
size_t mapping_count;
Mapping around;

namespace {

constexpr size_t kBuffer = 16384;

uintptr_t hexadecimal(const char *&at) noexcept {
    uintptr_t number = 0;
    for (;; ++at) {
        const char digit = *at;
        if (digit >= '0' && digit <= '9')
            number = number * 16 + static_cast<uintptr_t>(digit - '0');
        else if (digit >= 'a' && digit <= 'f')
            number = number * 16 + static_cast<uintptr_t>(digit - 'a' + 10);
        else
            return number;
    }
}

// A line of /proc/self/maps: what may be written and is of no file is remembered; false if there is no room.
bool remember(const char *line, const char *end) noexcept {
    const char *at = line;
    Mapping mapping{};
    mapping.begin = hexadecimal(at);
    ++at; // the dash
    mapping.end = hexadecimal(at);
    if (end - at < 4 || at[2] != 'w') return true;
    const auto *const name = static_cast<const char *>(memchr(at, '/', static_cast<size_t>(end - at)));
    const auto *const special = static_cast<const char *>(memchr(at, '[', static_cast<size_t>(end - at)));
    if (name != nullptr) return true;
    if (special != nullptr && strncmp(special, "[heap]", 6) != 0 && strncmp(special, "[anon", 5) != 0)
        return true;
    if (mapping_count == kMostMappings) return false;
    mappings[mapping_count++] = mapping;
    return true;
}

} // namespace

bool remember_mappings() noexcept {
    static char buffer[kBuffer];
    const long file =
        raw_call(SYS_openat, AT_FDCWD, reinterpret_cast<long>("/proc/self/maps"), O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    bool fits = true;
    size_t held = 0;
    for (;;) {
        const long got = raw_call(SYS_read, file, reinterpret_cast<long>(buffer + held),
                                  static_cast<long>(kBuffer - held));
        if (got <= 0) break;
        held += static_cast<size_t>(got);
        const char *line = buffer;
        for (;;) {
            const size_t left = held - static_cast<size_t>(line - buffer);
            const auto *const end = static_cast<const char *>(memchr(line, '\n', left));
            if (end == nullptr) break;
            fits = fits && remember(line, end);
            line = end + 1;
        }
        held -= static_cast<size_t>(line - buffer);
        memmove(buffer, line, held);
    }
    raw_call(SYS_close, file);
    if (mapping_count != 0) around = {mappings[0].begin, mappings[mapping_count - 1].end};
    return fits;
}

} // namespace reap::preload
