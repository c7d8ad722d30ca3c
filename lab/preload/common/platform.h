// The system interface of the preloads, chosen so that the measured program cannot notice the calls.
//
// Uses raw system calls where libc's wrapper is a cancellation point or could be interposed. The caller saves
// `errno` with ErrnoGuard.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <sys/mman.h>
#include <sys/single_threaded.h>

#ifdef REAP_OLDER
#include "newer.h"
#include "single_threaded.h"
#endif

namespace reap::preload {

#define REAP_HIDDEN __attribute__((visibility("hidden")))
#define REAP_EXPORT extern "C" __attribute__((visibility("default")))
#define REAP_COLD __attribute__((noinline, cold))

inline bool likely(bool condition) noexcept { return __builtin_expect(static_cast<long>(condition), 1) != 0; }
inline bool unlikely(bool condition) noexcept {
    return __builtin_expect(static_cast<long>(condition), 0) != 0;
}

// A system call that does not set errno; returns a negative errno on failure. Avoids libc, whose pages the
// child of a fork has not mapped yet: touching each costs a page fault.
inline long raw_call(long number, long a = 0, long b = 0, long c = 0) noexcept {
#if defined(__x86_64__)
    long result;
    asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 asm("x8") = number;
    register long x0 asm("x0") = a;
    register long x1 asm("x1") = b;
    register long x2 asm("x2") = c;
    asm volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
#endif
}

// The same with five arguments.
inline long raw_call(long number, long a, long b, long c, long d, long e) noexcept {
#if defined(__x86_64__)
    long result;
    register const long r10 asm("r10") = d;
    register const long r8 asm("r8") = e;
    asm volatile("syscall"
                 : "=a"(result)
                 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                 : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 asm("x8") = number;
    register long x0 asm("x0") = a;
    register long x1 asm("x1") = b;
    register long x2 asm("x2") = c;
    register long x3 asm("x3") = d;
    register long x4 asm("x4") = e;
    asm volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
    return x0;
#endif
}

// Copies bytes, for the child of a fork: see raw_call.
inline void raw_copy(void *to, const void *from, size_t bytes) noexcept {
#if defined(__x86_64__)
    asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
#else
    for (size_t i = 0; i < bytes; ++i) {
        static_cast<char *>(to)[i] = static_cast<const char *>(from)[i];
        asm volatile("" : : : "memory"); // else the compiler calls memcpy
    }
#endif
}

// errno without a call of libc: see raw_call. Its distance from the thread pointer is the same in every
// thread, since libc is there from the start.
inline int &own_errno() noexcept {
    static ptrdiff_t distance; // 0: not known yet
    ptrdiff_t known = __atomic_load_n(&distance, __ATOMIC_RELAXED);
    auto *const thread = static_cast<char *>(__builtin_thread_pointer());
    if (unlikely(known == 0)) {
        known = reinterpret_cast<char *>(&errno) - thread;
        __atomic_store_n(&distance, known, __ATOMIC_RELAXED);
    }
    return *reinterpret_cast<int *>(thread + known);
}

// Restores errno at the end of the scope.
class ErrnoGuard {
  public:
    ErrnoGuard() noexcept : saved_(own_errno()) {}
    ~ErrnoGuard() { own_errno() = saved_; }
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

// Whether RLIMIT_FSIZE allows a file of this size: growing it further raises SIGXFSZ, which would kill the
// program.
bool may_grow_to(uint64_t bytes) noexcept;

// Allocates file space for [offset, offset + length) without raising SIGXFSZ; 0 or an errno. The range must
// be empty: if the file system does not support fallocate, zeros are written.
int allocate_space(int descriptor, uint64_t offset, uint64_t length) noexcept;

// Anonymous zeroed memory for bookkeeping, which a limit of the program's data does not know; null on
// failure.
void *map_private(size_t bytes) noexcept;

// The same for a table that is read and written all over: of huge pages, if it is larger than one, as else
// each access misses the TLB.
void *map_table(size_t bytes) noexcept;

// The same for the first, small table of a kind, which is never freed: the first tables share a page, so that
// the child of a fork that records little touches one page for all of them and maps none.
void *map_first_table(size_t bytes) noexcept;

uint32_t thread_id() noexcept;

// Whether the C library says that the process has one thread. It does since glibc 2.32.
inline bool is_single_threaded() noexcept {
#ifdef REAP_OLDER
    return *older::single_threaded != 0;
#else
    return __libc_single_threaded != 0;
#endif
}

// Tells that this thread is about to open this file, ...
inline void before_open([[maybe_unused]] const char *file) noexcept {
#ifdef REAP_OLDER
    older::before_open(file);
#endif
}

// ... or to close what a handle of dlopen stands for.
inline void before_close([[maybe_unused]] const void *handle) noexcept {
#ifdef REAP_OLDER
    older::before_close(handle);
#endif
}

// Notes the modules for the child that this thread is about to fork, under no lock of ours.
inline void prepare_fork() noexcept {
#ifdef REAP_OLDER
    older::prepare_fork();
#endif
}

// A lock that waits in the kernel; usable before any initialisation and across fork.
class FutexLock {
  public:
    void lock() noexcept;
    bool try_lock() noexcept;
    void unlock() noexcept;
    [[nodiscard]] bool is_held() const noexcept { return __atomic_load_n(&word_, __ATOMIC_RELAXED) != 0; }
    // For the child of a fork, which has one thread: releases what the parent's threads held. Writes only if
    // need be, since that copies a page.
    void reset() noexcept {
        if (is_held()) __atomic_store_n(&word_, 0, __ATOMIC_RELAXED);
    }

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
