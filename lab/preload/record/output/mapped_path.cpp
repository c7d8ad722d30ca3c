#include "mapped_path.h"

#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform.h"

namespace reap::preload {
namespace {

constexpr size_t kMaxLine = 4352; // a path and what precedes it

// The path in a line, if it is of a mapping of `address`; else null.
const char *path_in(const char *line, uint64_t address) noexcept {
    char *end = nullptr;
    const uint64_t start = strtoull(line, &end, 16);
    const uint64_t finish = *end == '-' ? strtoull(end + 1, &end, 16) : 0;
    return address >= start && address < finish ? strchr(end, '/') : nullptr;
}

} // namespace

size_t read_mapped_path(uint64_t address, char *path, size_t capacity) noexcept {
    const ErrnoGuard keep;
    const long file = syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    static char text[kMaxLine + 1]; // static: the stack may be small
    size_t length = 0;
    size_t found = 0;
    for (long got = 1; got > 0 && found == 0;) {
        got = syscall(SYS_read, file, text + length, kMaxLine - length);
        if (got > 0) length += static_cast<size_t>(got);
        text[length] = '\0';
        char *line = text;
        for (char *end = strchr(line, '\n'); end != nullptr && found == 0; end = strchr(line, '\n')) {
            *end = '\0';
            const char *name = path_in(line, address);
            const size_t width = name != nullptr ? strlen(name) : 0;
            if (width != 0 && width <= capacity) {
                raw_copy(path, name, width);
                found = width;
            }
            line = end + 1;
        }
        length -= static_cast<size_t>(line - text);
        memmove(text, line, length + 1);
        if (length == kMaxLine) break; // no line is that long
    }
    close_quietly(static_cast<int>(file));
    return found;
}

} // namespace reap::preload
