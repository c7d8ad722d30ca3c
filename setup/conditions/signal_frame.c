// A preload for tests alone: signal frames are larger, as processors make them that save AVX-512 or AMX.
//
// Each handler is called by one that takes kMore bytes of the stack first, and the sizes that programs ask
// the system for are larger by as much. Handlers that are set by the system call itself are not seen.
#define _GNU_SOURCE
#include <alloca.h>
#include <dlfcn.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

enum { kMore = 12 << 10, kSignals = 65 };

typedef void (*Handler)(int, siginfo_t *, void *);

int __sigaction(int number, const struct sigaction *action, struct sigaction *old);
long __sysconf(int name);

static Handler handlers[kSignals];

static void call_handler(int number, siginfo_t *information, void *context) {
    memset(alloca(kMore), 1, kMore);
    __asm__ volatile("" ::: "memory");
    handlers[number](number, information, context);
    __asm__ volatile("" ::: "memory"); // no jump in place of the call
}

static int is_function(const struct sigaction *action) {
    return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

int sigaction(int number, const struct sigaction *action, struct sigaction *old) {
    if (number <= 0 || number >= kSignals) return __sigaction(number, action, old);
    const Handler before = handlers[number];
    struct sigaction ours;
    if (action != NULL && is_function(action)) {
        ours = *action;
        handlers[number] = ours.sa_sigaction;
        ours.sa_sigaction = call_handler;
        action = &ours;
    }
    const int status = __sigaction(number, action, old);
    if (status != 0) handlers[number] = before;
    if (status == 0 && old != NULL && old->sa_sigaction == call_handler) old->sa_sigaction = before;
    return status;
}

static sighandler_t set_handler(int number, sighandler_t handler, int flags) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, old;
    return sigaction(number, &action, &old) == 0 ? old.sa_handler : SIG_ERR;
}

sighandler_t signal(int number, sighandler_t handler) { return set_handler(number, handler, SA_RESTART); }

sighandler_t sysv_signal(int number, sighandler_t handler) {
    return set_handler(number, handler, (int)SA_RESETHAND | SA_NODEFER);
}

long sysconf(int name) {
    const long value = __sysconf(name);
    const int asked = name == _SC_MINSIGSTKSZ || name == _SC_SIGSTKSZ;
    return asked && value > 0 ? value + kMore : value;
}

unsigned long getauxval(unsigned long type) {
    static unsigned long (*real)(unsigned long);
    if (real == NULL) real = (unsigned long (*)(unsigned long))dlsym(RTLD_NEXT, "getauxval");
    const unsigned long value = real(type);
    return type == AT_MINSIGSTKSZ && value != 0 ? value + kMore : value;
}
