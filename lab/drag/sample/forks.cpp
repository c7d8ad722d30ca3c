// Forks that bypass the C library's fork handlers. Samples are in shared memory, so a child must get a copy.
// System calls that a program makes by its own instruction cannot be intercepted.
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "next.h"
#include "real.h"
#include "sampler.h"

using namespace reap::preload;
using reap::drag::sampler;

namespace {

REAP_NEXT(real_fork, "_Fork", pid_t());
REAP_NEXT(real_clone, "clone", int(int (*)(void *), void *, int, void *, ...));

template <class Call>
auto fork_by(Call call) noexcept {
    sampler.before_fork();
    const auto child = call();
    const ErrnoGuard keep;
    if (child == 0) {
        sampler.after_fork_in_child();
    } else {
        sampler.after_fork_in_parent();
    }
    return child;
}

// The child begins in a function of its own.
struct Start {
    int (*function)(void *);
    void *argument;
};

int begin(void *start) {
    const Start own = *static_cast<Start *>(start);
    sampler.after_fork_in_child();
    return own.function(own.argument);
}

} // namespace

REAP_EXPORT pid_t _Fork() {
    return fork_by([] { return real_fork(); });
}

REAP_EXPORT int clone(int (*function)(void *), void *stack, int flags, void *argument, ...) {
    va_list rest;
    va_start(rest, argument);
    auto *parent_id = va_arg(rest, void *);
    auto *tls = va_arg(rest, void *);
    auto *child_id = va_arg(rest, void *);
    va_end(rest);
    if ((flags & CLONE_VM) != 0 || function == nullptr || stack == nullptr) {
        return real_clone(function, stack, flags, argument, parent_id, tls, child_id);
    }
    Start start{function, argument};
    // If the stack is a sample, the child would run on memory that it is about to replace.
    const size_t size = sampler.owns(static_cast<char *>(stack) - 1) ? sampler.room_below(stack) : 0;
    void *other = size != 0 ? map_private(size) : nullptr;
    if (other != nullptr) stack = static_cast<char *>(other) + size;
    const int child =
        fork_by([&] { return real_clone(begin, stack, flags, &start, parent_id, tls, child_id); });
    if (other != nullptr) munmap(other, size);
    return child;
}

#ifdef __x86_64__
// A forking call: the child has its own memory, and continues where its parent is, on a copy of its stack.
extern "C" [[gnu::used]] REAP_HIDDEN long reap_forking_call(long number, long first, long second, long third,
                                                            long fourth, long fifth, long sixth) {
    const long result = fork_by([=] {
        long answer;
        register const long r10 asm("r10") = fourth;
        register const long r8 asm("r8") = fifth;
        register const long r9 asm("r9") = sixth;
        asm volatile("syscall"
                     : "=a"(answer)
                     : "a"(number), "D"(first), "S"(second), "d"(third), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
        return answer;
    });
    if (result >= 0) return result;
    errno = static_cast<int>(-result);
    return -1;
}

extern "C" [[gnu::used]] REAP_HIDDEN long reap_failed_call(long result) {
    errno = static_cast<int>(-result);
    return -1;
}

#define REAP_STRING(text) #text
#define REAP_NUMBER(name) REAP_STRING(name)

// Replaces the C library's syscall, which cannot be called: our own lock and files need it before any symbol
// can be looked up. In assembly, since a child may start after the instruction, on a stack of its own.
asm(R"(
    .text
    .globl syscall
    .type syscall, @function
syscall:
    .cfi_startproc
    endbr64
    cmpq $)" REAP_NUMBER(SYS_fork) R"(, %rdi
    je reap_forking_call
    cmpq $)" REAP_NUMBER(SYS_clone) R"(, %rdi
    je 2f
    cmpq $)" REAP_NUMBER(SYS_clone3) R"(, %rdi
    je 3f
1:  movq %rdi, %rax
    movq %rsi, %rdi
    movq %rdx, %rsi
    movq %rcx, %rdx
    movq %r8, %r10
    movq %r9, %r8
    movq 8(%rsp), %r9
    syscall
    cmpq $-4095, %rax
    jae 4f
    ret
2:  testl $0x100, %esi      # CLONE_VM
    jnz 1b
    testq %rdx, %rdx        # a stack
    jnz 1b
    jmp reap_forking_call
3:  testq %rsi, %rsi
    jz 1b
    testl $0x100, (%rsi)
    jnz 1b
    cmpq $0, 40(%rsi)
    jne 1b
    jmp reap_forking_call
4:  movq %rax, %rdi
    jmp reap_failed_call
    .cfi_endproc
    .size syscall, . - syscall
)");
#endif

namespace {

// The C library's iterators over open streams.
REAP_NEXT(first_stream, "_IO_iter_begin", FILE *());
REAP_NEXT(next_stream, "_IO_iter_next", FILE *(FILE *));
REAP_NEXT(stream_file, "_IO_iter_file", FILE *(FILE *));
bool other_threads = false; // when a fork began

// In a multi-threaded process, the C library resets the locks of all streams in the child before its handlers
// run. Those in samples are then replaced by their state before the fork, possibly locked by a thread that
// the child does not have.
void unlock_streams() noexcept {
    if (!other_threads) return;
    struct Lock { // _IO_lock_t
        int lock;
        int count;
        void *owner;
    };
    if (first_stream.get() == nullptr || next_stream.get() == nullptr || stream_file.get() == nullptr) return;
    for (FILE *at = first_stream(); at != nullptr; at = next_stream(at)) {
        void *lock = stream_file(at)->_lock;
        if (sampler.owns(lock)) memset(lock, 0, sizeof(Lock));
    }
}

using Handler = void (*)();
REAP_NEXT(real_register, "__register_atfork", int(Handler, Handler, Handler, void *));

// Registers our handlers first, so that samples are copied after all other prepare handlers have run, and are
// installed in the child before its other handlers.
void follow() noexcept {
    static bool follows;
    if (follows) return;
    follows = true;
    real_register(
        [] {
            other_threads = !is_single_threaded();
            sampler.before_fork();
        },
        [] { sampler.after_fork_in_parent(); },
        [] {
            sampler.after_fork_in_child();
            unlock_streams();
        },
        nullptr);
}

} // namespace

// The C library's implementation of pthread_atfork.
REAP_EXPORT int __register_atfork(Handler prepare, Handler parent, Handler child, void *file) {
    follow();
    return real_register(prepare, parent, child, file);
}

[[gnu::constructor]] static void begin_to_follow() { follow(); }
