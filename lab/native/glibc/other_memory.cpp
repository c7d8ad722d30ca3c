#include "glibc/other_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <string>

#include "walked_memory.h"

namespace reap::native {
namespace {

constexpr uint64_t kPresent = uint64_t{1} << 63; // of an entry of /proc/PID/pagemap

struct Process {
    pid_t number = 0;
    int memory = -1;
    int pages = -1;
    uint64_t left = 0; // nanoseconds that reading may still take
    bool exhausted = false;
};
thread_local Process process;

// Costs of reading, about, in nanoseconds.
constexpr uint64_t kCall = 1000;
constexpr uint64_t kBytes = 8; // a nanosecond
constexpr uint64_t kPage = 30; // to find out whether it is resident

int open_of(pid_t number, const char *name) {
    const std::string path = "/proc/" + std::to_string(number) + "/" + name;
    return ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
}

// False, now and from then on, where that is more than reading may take.
bool spend(uint64_t nanoseconds) noexcept {
    process.exhausted = process.exhausted || nanoseconds > process.left;
    if (!process.exhausted) process.left -= nanoseconds;
    return !process.exhausted;
}

} // namespace

OtherMemory::OtherMemory(pid_t number, uint64_t nanoseconds) {
    process = {number, open_of(number, "mem"), open_of(number, "pagemap"), nanoseconds};
}

OtherMemory::~OtherMemory() {
    if (process.memory >= 0) ::close(process.memory);
    if (process.pages >= 0) ::close(process.pages);
    process = {};
}

bool OtherMemory::readable() const noexcept { return process.memory >= 0 && process.pages >= 0; }

bool OtherMemory::exhausted() const noexcept { return process.exhausted; }

} // namespace reap::native

namespace reap::glibc {

using native::process;

bool find_resident(uint64_t begin, uint64_t pages, unsigned char *there) noexcept {
    std::array<uint64_t, 512> entries;
    if (!native::spend(pages * native::kPage)) return false;
    for (uint64_t done = 0; done < pages;) {
        const uint64_t count = std::min<uint64_t>(pages - done, entries.size());
        const size_t bytes = count * sizeof entries[0];
        const auto at = static_cast<off_t>((begin / page + done) * sizeof entries[0]);
        if (::pread(process.pages, entries.data(), bytes, at) != static_cast<ssize_t>(bytes)) return false;
        for (uint64_t i = 0; i < count; ++i) there[done + i] = (entries[i] & native::kPresent) != 0 ? 1 : 0;
        done += count;
    }
    return true;
}

bool read_memory(uint64_t address, void *to, size_t bytes) noexcept {
    constexpr uint64_t most = 17; // pages
    const uint64_t first = address / page;
    const uint64_t pages = (address + bytes - 1) / page - first + 1;
    std::array<unsigned char, most> there;
    if (bytes == 0 || pages > most || !native::spend(native::kCall + bytes / native::kBytes)) return false;
    if (!find_resident(first * page, pages, there.data())) return false;
    if (std::find(there.begin(), there.begin() + pages, 0) != there.begin() + pages) return false;
    return ::pread(process.memory, to, bytes, static_cast<off_t>(address)) == static_cast<ssize_t>(bytes);
}

// The end of the last mapping that the kernel calls [heap].
uint64_t current_break() noexcept {
    std::ifstream maps("/proc/" + std::to_string(process.number) + "/maps");
    uint64_t end = 0;
    for (std::string line; std::getline(maps, line);) {
        if (!line.ends_with(" [heap]")) {
            if (end != 0) break;
            continue;
        }
        const size_t dash = line.find('-');
        if (dash == std::string::npos) break;
        std::from_chars(line.data() + dash + 1, line.data() + line.size(), end, 16);
    }
    return end;
}

} // namespace reap::glibc
