#include "platform.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace reap::preload {

int open_shared(const char *path) noexcept {
    const long descriptor = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW);
    return descriptor < 0 ? -errno : static_cast<int>(descriptor);
}

size_t read_file(const char *path, char *buffer, size_t capacity) noexcept {
    const long descriptor = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return 0;
    size_t length = 0;
    while (length < capacity) {
        const long got = syscall(SYS_read, descriptor, buffer + length, capacity - length);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        length += static_cast<size_t>(got);
    }
    syscall(SYS_close, descriptor);
    return length;
}

void close_quietly(int descriptor) noexcept { syscall(SYS_close, descriptor); }

bool may_grow_to(uint64_t bytes) noexcept {
    rlimit limit{};
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur;
}

int allocate_space(int descriptor, uint64_t offset, uint64_t length) noexcept {
    if (!may_grow_to(offset + length)) return EFBIG;
    for (;;) {
        if (syscall(SYS_fallocate, descriptor, 0, offset, length) == 0) return 0;
        if (errno != EINTR) break;
    }
    if (errno != EOPNOTSUPP && errno != ENOSYS) return errno;
    // A file system without fallocate: space can only be allocated by writing zeros.
    static constexpr char kZeros[4096] = {};
    for (uint64_t done = 0; done < length;) {
        const long wrote =
            syscall(SYS_pwrite64, descriptor, kZeros,
                    length - done < sizeof kZeros ? length - done : sizeof kZeros, offset + done);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) return wrote < 0 ? errno : ENOSPC;
        done += static_cast<uint64_t>(wrote);
    }
    return 0;
}

void *map_private(size_t bytes) noexcept {
    // What may grow downwards counts as stack, and all else that is private and writable as the program's
    // data, of which it may have little (RLIMIT_DATA). It does not grow: only an access below it would do
    // that.
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_GROWSDOWN;
    void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kFlags, -1, 0);
    return memory == MAP_FAILED ? nullptr : memory;
}

void *map_table(size_t bytes) noexcept {
    constexpr size_t kHuge = size_t{2} << 20;
    if (bytes < kHuge) return map_private(bytes);
    void *const memory = map_private(bytes + kHuge); // what is not used is never touched
    if (memory == nullptr) return nullptr;
    void *const table =
        reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(memory) + kHuge - 1) & ~(kHuge - 1));
    madvise(table, bytes, MADV_HUGEPAGE);
    return table;
}

void *map_first_table(size_t bytes) noexcept {
    constexpr size_t kPage = 4096;
    constexpr size_t kAligned = 64;
    static struct {
        alignas(kPage) size_t taken;
        alignas(kAligned) unsigned char memory[kPage - kAligned];
    } page;
    const size_t rounded = (bytes + kAligned - 1) & ~(kAligned - 1);
    const size_t before = __atomic_fetch_add(&page.taken, rounded, __ATOMIC_RELAXED);
    return before + rounded <= sizeof page.memory ? page.memory + before : map_private(bytes);
}

uint32_t thread_id() noexcept { return static_cast<uint32_t>(raw_call(SYS_gettid)); }

bool FutexLock::try_lock() noexcept {
    int expected = 0;
    return __atomic_compare_exchange_n(&word_, &expected, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

void FutexLock::lock() noexcept {
    if (try_lock()) return;
    while (__atomic_exchange_n(&word_, 2, __ATOMIC_ACQUIRE) != 0) {
        syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, 2, nullptr, nullptr, 0);
    }
}

void FutexLock::unlock() noexcept {
    if (__atomic_exchange_n(&word_, 0, __ATOMIC_RELEASE) == 2) {
        syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    }
}

} // namespace reap::preload
