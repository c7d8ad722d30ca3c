#include "mappings.h"

#include <cstring>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mapped_blocks.h"
#include "platform.h"

namespace reap::preload {
namespace {

constexpr long close_range_call = 436; // on every architecture; not in the headers of Debian 11
constexpr long close_range_unshare = 2;
constexpr long every_descriptor = ~0U;

uint64_t read_hex(const char *&at) noexcept {
    uint64_t value = 0;
    for (;; ++at) {
        if (*at >= '0' && *at <= '9') {
            value = value << 4 | static_cast<uint64_t>(*at - '0');
        } else if (*at >= 'a' && *at <= 'f') {
            value = value << 4 | static_cast<uint64_t>(*at - 'a' + 10);
        } else {
            return value;
        }
    }
}

// Whether a line is of private memory without a file: "begin-end rw-p offset device inode name".
bool is_anonymous(const char *line, uint64_t &begin, uint64_t &end) noexcept {
    const char *at = line;
    begin = read_hex(at);
    if (*at++ != '-') return false;
    end = read_hex(at);
    if (strncmp(at, " rw-p ", 6) != 0) return false;
    const char *device = strchr(at + 6, ' ');
    if (device == nullptr || strncmp(device, " 00:00 0", 8) != 0) return false;
    const char *name = device + 8;
    while (*name == ' ') ++name;
    return *name == '\0' || strncmp(name, "[anon", 5) == 0;
}

} // namespace

void Mappings::open() noexcept {
    maps_ = -1;
    if (raw_call(close_range_call, 0, every_descriptor, close_range_unshare) != 0) return;
    const long descriptor =
        raw_call(SYS_openat, AT_FDCWD, reinterpret_cast<long>("/proc/self/maps"), O_RDONLY | O_CLOEXEC);
    maps_ = descriptor < 0 ? -1 : static_cast<int>(descriptor);
}

void Mappings::find(uint64_t bytes, const int &ending, reap_resident_around &around) const noexcept {
    static char text[16384];
    if (maps_ < 0 || bytes == 0 || raw_call(SYS_lseek, maps_, 0, SEEK_SET) != 0) return;
    size_t kept = 0; // of a line that is not whole yet
    while (around.mapped < bytes && __atomic_load_n(&ending, __ATOMIC_RELAXED) == 0) {
        const long got = raw_call(SYS_read, maps_, reinterpret_cast<long>(text + kept),
                                  static_cast<long>(sizeof text - 1 - kept));
        if (got <= 0) return;
        const size_t length = kept + static_cast<size_t>(got);
        text[length] = '\0';
        char *line = text;
        for (char *next = strchr(line, '\n'); next != nullptr; next = strchr(line, '\n')) {
            *next = '\0';
            uint64_t begin = 0;
            uint64_t end = 0;
            if (is_anonymous(line, begin, end)) glibc::find_mapped_blocks(begin, end, bytes, ending, around);
            line = next + 1;
        }
        kept = length - static_cast<size_t>(line - text);
        if (kept >= sizeof text - 1) return; // no line is so long
        memmove(text, line, kept);
    }
}

} // namespace reap::preload
