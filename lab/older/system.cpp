// Functions that make system calls: their fall-backs make the same, and are used where glibc has them, too,
// but for those of processes.
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "newer.h"

namespace reap::older {
namespace {

constinit Newer<pid_t()> newer_fork{"_Fork"};
constinit Newer<void(int)> newer_closefrom{"closefrom"};

// As the kernel writes it.
struct Entry {
    uint64_t inode;
    int64_t offset;
    uint16_t length;
    uint8_t kind;
    char name[1];
};

// Before Linux 5.9. Allocates nothing, for the child of a process with threads.
void close_listed(int first) noexcept {
    const int folder = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return;
    alignas(Entry) char entries[4096];
    long bytes = 0;
    while ((bytes = syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0) {
        for (long at = 0; at < bytes;) {
            const auto *const entry = reinterpret_cast<const Entry *>(entries + at);
            at += entry->length;
            const auto number = static_cast<int>(strtol(entry->name, nullptr, 10)); // 0 of . and ..
            if (number >= first && number != folder) close(number);
        }
    }
    close(folder);
}

} // namespace
} // namespace reap::older

using namespace reap::older;

extern "C" {

[[gnu::weak]] int fstatat(int folder, const char *path, struct stat *status, int flags) noexcept {
    return static_cast<int>(syscall(SYS_newfstatat, folder, path, status, flags));
}

[[gnu::weak]] int stat(const char *path, struct stat *status) noexcept {
    return fstatat(AT_FDCWD, path, status, 0);
}

[[gnu::weak]] int lstat(const char *path, struct stat *status) noexcept {
    return fstatat(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}

[[gnu::weak]] int fstat(int file, struct stat *status) noexcept {
    return static_cast<int>(syscall(SYS_fstat, file, status));
}

#if defined(__x86_64__)
// The same there: a file's size has 64 bits.
[[gnu::weak]] int fstat64(int file, struct stat64 *status) noexcept {
    return static_cast<int>(syscall(SYS_fstat, file, status));
}
#endif

// For libstdc++'s random_device.
[[gnu::weak]] uint32_t arc4random() noexcept {
    uint32_t number = 0;
    while (syscall(SYS_getrandom, &number, sizeof number, 0) != sizeof number) {
        if (errno != EINTR) abort(); // as random_device, which has no other way to say so without exceptions
    }
    return number;
}

[[gnu::weak]] void closefrom(int first) noexcept {
    constexpr long close_range = 436; // Linux 5.9
    if (auto *const newer = newer_closefrom.get()) return newer(first);
    if (hides_newer || syscall(close_range, first, UINT32_MAX, 0) != 0) close_listed(first);
}

// Without the handlers of pthread_atfork, as glibc's.
[[gnu::weak]] pid_t _Fork() noexcept {
    if (auto *const newer = newer_fork.get()) return newer();
    return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
}

// For what is compiled by others: they keep their locks.
[[gnu::weak]] char __libc_single_threaded = 0;

} // extern "C"
