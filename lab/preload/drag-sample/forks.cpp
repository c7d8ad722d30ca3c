// Forks that the C library's handlers do not see. Samples lie in shared memory, and a child must have its
// own. What a program does by an instruction of its own is beyond us.
#include <cerrno>
#include <cstdarg>
#include <linux/sched.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "real.h"
#include "sampler.h"

using namespace reap::preload;
using reap::drag::sampler;

namespace {

pid_t (*real_fork)();

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

template <class Function>
Function next(Function *kept, const char *name) noexcept {
    if (*kept == nullptr) *kept = reinterpret_cast<Function>(next_symbol(name));
    return *kept;
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

// A child with memory of its own that goes on where its parent is, on a copy of its stack.
bool forks(long number, const long (&arguments)[6]) noexcept {
    switch (number) {
    case SYS_fork:
        return true;
    case SYS_clone:
        return (arguments[0] & CLONE_VM) == 0 && arguments[1] == 0;
    case SYS_clone3: {
        const auto *asked = reinterpret_cast<const clone_args *>(arguments[0]);
        return asked != nullptr && (asked->flags & CLONE_VM) == 0 && asked->stack == 0;
    }
    default:
        return false;
    }
}

} // namespace

REAP_EXPORT pid_t _Fork() { return fork_by(next(&real_fork, "_Fork")); }

REAP_EXPORT int clone(int (*function)(void *), void *stack, int flags, void *argument, ...) {
    static int (*real_clone)(int (*)(void *), void *, int, void *, ...);
    va_list rest;
    va_start(rest, argument);
    auto *parent_id = va_arg(rest, void *);
    auto *tls = va_arg(rest, void *);
    auto *child_id = va_arg(rest, void *);
    va_end(rest);
    next(&real_clone, "clone");
    if ((flags & CLONE_VM) != 0 || function == nullptr || stack == nullptr) {
        return real_clone(function, stack, flags, argument, parent_id, tls, child_id);
    }
    Start start{function, argument};
    // Where the stack is a sample, the child would stand on what it is about to exchange.
    const size_t size = sampler.owns(static_cast<char *>(stack) - 1) ? sampler.room_below(stack) : 0;
    void *other = size != 0 ? map_private(size) : nullptr;
    if (other != nullptr) stack = static_cast<char *>(other) + size;
    const int child =
        fork_by([&] { return real_clone(begin, stack, flags, &start, parent_id, tls, child_id); });
    if (other != nullptr) munmap(other, size);
    return child;
}

#ifdef __x86_64__
// As the C library's, which cannot be asked: our own lock and files need this function to be there before any
// other can be looked up.
REAP_EXPORT long syscall(long number, ...) {
    long each[6];
    va_list rest;
    va_start(rest, number);
    for (long &argument : each) argument = va_arg(rest, long);
    va_end(rest);
    const auto call = [&each, number] {
        long result;
        register const long fourth asm("r10") = each[3];
        register const long fifth asm("r8") = each[4];
        register const long sixth asm("r9") = each[5];
        asm volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(each[0]), "S"(each[1]), "d"(each[2]), "r"(fourth), "r"(fifth),
                       "r"(sixth)
                     : "rcx", "r11", "memory");
        return result;
    };
    const long result = forks(number, each) ? fork_by(call) : call();
    constexpr long kLeastError = -4095;
    if (result < 0 && result >= kLeastError) {
        errno = static_cast<int>(-result);
        return -1;
    }
    return result;
}
#endif

namespace {

using Handler = void (*)();
using Register = int (*)(Handler, Handler, Handler, void *);

// As the first of all, so that our copies are made when all other handlers have done what they do, and are
// the child's before its handlers begin.
Register follow() noexcept {
    static Register real_register;
    if (real_register != nullptr) return real_register;
    next(&real_register, "__register_atfork");
    real_register([] { sampler.before_fork(); }, [] { sampler.after_fork_in_parent(); },
                  [] { sampler.after_fork_in_child(); }, nullptr);
    return real_register;
}

} // namespace

// What pthread_atfork is in the C library.
REAP_EXPORT int __register_atfork(Handler prepare, Handler parent, Handler child, void *file) {
    return follow()(prepare, parent, child, file);
}

[[gnu::constructor]] static void begin_to_follow() {
    next(&real_fork, "_Fork"); // while it is safe: the program may fork in a signal's handler
    follow();
}
