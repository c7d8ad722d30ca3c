#include "output/lost_pages.h"

#include <cstddef>
#include <sys/syscall.h>
#include <ucontext.h>

#include "output/trace_file.h"
#include "platform.h"
#include "real_signal.h"
#include "stack_walk.h"
#include "thread_state.h"

namespace reap::preload {
namespace {

constexpr uintptr_t kPage = 4096;
constexpr int kRestorer = 0x04000000; // SA_RESTORER: the C library adds it to what is set

TraceFile *guarded;

// What the program set. A change writes the slot that is not in use, because a handler may be reading the
// other.
struct sigaction actions[2];
unsigned in_use;
FutexLock lock;

const struct sigaction &program_action() noexcept {
    return actions[__atomic_load_n(&in_use, __ATOMIC_ACQUIRE)];
}

// Whatever its flags: the kernel keeps them when it resets a handler.
bool is_default(const struct sigaction &action) noexcept { return action.sa_handler == SIG_DFL; }
bool is_ignored(const struct sigaction &action) noexcept { return action.sa_handler == SIG_IGN; }

void set_program_action(const struct sigaction &action) noexcept {
    const unsigned next = 1 - __atomic_load_n(&in_use, __ATOMIC_RELAXED);
    actions[next] = action;
    __atomic_store_n(&in_use, next, __ATOMIC_RELEASE);
}

bool replace_page(void *address) noexcept {
    auto *page = reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(address) & ~(kPage - 1));
    return mmap(page, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page;
}

// Whether the recorder itself made the access: in its own code, or in a function that it called.
bool is_own_access(const siginfo_t &info, const ucontext_t &context) noexcept {
    if (info.si_code != BUS_ADRERR) return false;
    return thread_state.busy ||
           own_code().contains(static_cast<uint64_t>(context.uc_mcontext.gregs[REG_RIP]));
}

// Ends the process as without a handler. A signal that was sent is sent again, one of an access recurs.
void die(int number, siginfo_t *info) noexcept {
    struct sigaction action{};
    action.sa_handler = SIG_DFL;
    real_sigaction(number, &action, nullptr);
    if (info->si_code <= 0) syscall(SYS_rt_tgsigqueueinfo, raw_call(SYS_getpid), thread_id(), number, info);
}

void handle(int number, siginfo_t *info, void *context) {
    const ErrnoGuard keep;
    if (is_own_access(*info, *static_cast<const ucontext_t *>(context)) && replace_page(info->si_addr)) {
        guarded->lose_pages();
        return;
    }
    const struct sigaction program = program_action();
    if (is_default(program)) return die(number, info);
    if ((static_cast<unsigned>(program.sa_flags) & SA_RESETHAND) != 0) {
        struct sigaction fresh = program;
        fresh.sa_handler = SIG_DFL;
        const LockGuard guard(lock);
        set_program_action(fresh);
    }
    if ((program.sa_flags & SA_SIGINFO) != 0) {
        program.sa_sigaction(number, info, context);
    } else {
        program.sa_handler(number);
    }
}

// The recorder's handler in front of the program's `action`, which may be the default.
struct sigaction in_front_of(const struct sigaction &action) noexcept {
    struct sigaction own = action;
    own.sa_sigaction = handle;
    own.sa_flags = is_default(action) ? SA_SIGINFO | SA_ONSTACK | SA_RESTART
                                      : (action.sa_flags | SA_SIGINFO) & ~static_cast<int>(SA_RESETHAND);
    if ((own.sa_flags & SA_ONSTACK) != 0) sigaddset(&own.sa_mask, SIGRTMAX - 2); // see timer_sampler.cpp
    return own;
}

} // namespace

void guard_lost_pages(TraceFile &trace) noexcept {
    struct sigaction found{};
    if (real_sigaction(SIGBUS, nullptr, &found) != 0 || is_ignored(found)) return;
    guarded = &trace;
    own_code(); // computed before the first signal
    set_program_action(found);
    const struct sigaction own = in_front_of(found);
    if (real_sigaction(SIGBUS, &own, nullptr) != 0) guarded = nullptr;
}

void guard_lost_pages_in_child() noexcept { lock.reset(); }

bool guards_lost_pages() noexcept { return guarded != nullptr; }

int change_bus_action(const struct sigaction *action, struct sigaction *old) noexcept {
    const LockGuard guard(lock);
    const struct sigaction before = program_action();
    if (action != nullptr && ((action->sa_flags & SA_SIGINFO) == 0 || action->sa_sigaction != handle)) {
        struct sigaction wanted = *action; // may be `old`
        const struct sigaction own = is_ignored(wanted) ? wanted : in_front_of(wanted);
        const int status = real_sigaction(SIGBUS, &own, nullptr);
        if (status != 0) return status;
        struct sigaction set{};
        real_sigaction(SIGBUS, nullptr, &set);
        wanted.sa_flags |= set.sa_flags & kRestorer;
        wanted.sa_restorer = set.sa_restorer;
        set_program_action(wanted);
    }
    if (old != nullptr) *old = before;
    return 0;
}

} // namespace reap::preload
