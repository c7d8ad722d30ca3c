#pragma once

#include <cstddef>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <thread>

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#endif

/// Runs work() in a thread for which the kernel refuses one system call, as containers and sandboxes do. The
/// filter ends with the thread. False where it cannot be set, or would stop valgrind as well; then nothing
/// was run.
///
/// Tools and the C library may need the call for themselves: where it is mmap, work() is to do nothing but
/// what is tested, and to expect nothing but through variables.
template <class Work>
bool where_refused(long call, int error, Work work) {
    bool done = false;
#if defined(RUNNING_ON_VALGRIND)
    if (call == SYS_mmap && RUNNING_ON_VALGRIND != 0) return false;
#endif
    std::thread([&] {
        sock_filter lines[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (static_cast<unsigned>(error) & SECCOMP_RET_DATA)),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        const sock_fprog filter{sizeof lines / sizeof *lines, lines};
        if (::prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) != 0) return;
        if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) return;
        work();
        done = true;
    }).join();
    return done;
}
