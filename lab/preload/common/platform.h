// The few calls that a preload makes of the system, chosen so that the measured program cannot notice them.
//
// Raw system calls where libc's wrapper would be a cancellation point or could be interposed; the caller
// keeps `errno` with ErrnoGuard.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <sys/mman.h>

namespace reap::preload {

#define REAP_HIDDEN __attribute__((visibility("hidden")))
#define REAP_EXPORT extern "C" __attribute__((visibility("default")))
#define REAP_COLD __attribute__((noinline, cold))

inline bool likely(bool condition) noexcept { return __builtin_expect(static_cast<long>(condition), 1) != 0; }
inline bool unlikely(bool condition) noexcept {
    return __builtin_expect(static_cast<long>(condition), 0) != 0;
}

// A system call that leaves errno alone: a negative errno on failure. The child of a fork has none of libc's
// pages mapped yet, and each that it comes by costs a page fault.
inline long raw_call(long number, long a = 0, long b = 0, long c = 0) noexcept {
    long result;
    asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
}

// Puts errno back to what the program last saw.
class ErrnoGuard {
  public:
    ErrnoGuard() noexcept : saved_(errno) {}
    ~ErrnoGuard() { errno = saved_; }
    ErrnoGuard(const ErrnoGuard &) = delete;
    ErrnoGuard &operator=(const ErrnoGuard &) = delete;

  private:
    int saved_;
};

// Opens `path` for reading and writing; a negative errno on failure. Never a cancellation point.
int open_shared(const char *path) noexcept;

// Reads a whole small file of /proc into `buffer`; bytes read, or 0.
size_t read_file(const char *path, char *buffer, size_t capacity) noexcept;

void close_quietly(int descriptor) noexcept;

// Whether a file may have so many bytes: growing it past the process's limit raises SIGXFSZ, which would kill
// a program that did nothing wrong.
bool may_grow_to(uint64_t bytes) noexcept;

// Allocates file space for [offset, offset + length) without ever raising SIGXFSZ; 0 or an errno. Nothing may
// be there yet: a file system that cannot do it has zeros written.
int allocate_space(int descriptor, uint64_t offset, uint64_t length) noexcept;

// Anonymous zeroed memory for bookkeeping; null when there is none.
void *map_private(size_t bytes) noexcept;

uint32_t thread_id() noexcept;

// A lock that sleeps in the kernel when it has to wait; usable before anything is initialised and across
// fork.
class FutexLock {
  public:
    void lock() noexcept;
    bool try_lock() noexcept;
    void unlock() noexcept;
    // The child of a fork is alone: whatever the parent's threads held is free.
    void reset() noexcept { __atomic_store_n(&word_, 0, __ATOMIC_RELAXED); }

  private:
    int word_ = 0; // 0 free, 1 held, 2 held with waiters
};

class LockGuard {
  public:
    explicit LockGuard(FutexLock &lock) noexcept : lock_(lock) { lock_.lock(); }
    ~LockGuard() { lock_.unlock(); }
    LockGuard(const LockGuard &) = delete;
    LockGuard &operator=(const LockGuard &) = delete;

  private:
    FutexLock &lock_;
};

} // namespace reap::preload
