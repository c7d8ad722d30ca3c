// syscall, with which programs execute others past our exec functions.
//
// Every other system call is made as by the C library: in registers and without a frame, as some calls return
// twice or on another stack.
#include <cerrno>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform.h"

#if defined(__x86_64__)

static_assert(SYS_execve == 59 && SYS_execveat == 322);

extern "C" REAP_HIDDEN long reap_execute(long number, long a, long b, long c, long d, long e) noexcept {
    using Words = char *const *;
    if (number == SYS_execve)
        return execve(reinterpret_cast<const char *>(a), reinterpret_cast<Words>(b),
                      reinterpret_cast<Words>(c));
    return execveat(static_cast<int>(a), reinterpret_cast<const char *>(b), reinterpret_cast<Words>(c),
                    reinterpret_cast<Words>(d), static_cast<int>(e));
}

extern "C" REAP_HIDDEN long reap_fail(long result) noexcept {
    errno = static_cast<int>(-result);
    return -1;
}

asm(R"(
    .text
    .globl syscall
    .type syscall, @function
syscall:
    .cfi_startproc
    endbr64
    cmpq $59, %rdi
    je reap_execute
    cmpq $322, %rdi
    je reap_execute
    movq %rdi, %rax
    movq %rsi, %rdi
    movq %rdx, %rsi
    movq %rcx, %rdx
    movq %r8, %r10
    movq %r9, %r8
    movq 8(%rsp), %r9
    syscall
    cmpq $-4095, %rax
    jae 1f
    ret
1:
    movq %rax, %rdi
    jmp reap_fail
    .cfi_endproc
    .size syscall, .-syscall
)");

#endif
