#include "timer_sampler.h"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "image.h"
#include "output/lost_pages.h"
#include "output/record_stream.h"
#include "platform.h"
#include "real_signal.h"
#include "stamp.h"

namespace reap::preload {

REAP_NEXT(real_sigaction, "sigaction", int(int, const struct sigaction *, struct sigaction *));

namespace {

TraceFile *trace_of_samples;
Owner owner_of_samples;
uint32_t clock_of_samples;
RecordStream samples;
int writing; // one thread's handler at a time; the others drop their sample
int timer;   // the kernel's: before glibc 2.34 librt has the functions
bool running;

int sampling_signal() noexcept { return SIGRTMAX - 2; }

// Stops sampling because the program uses the signal itself. (Many programs reset every signal before exec;
// our next tick would then kill them.)
void yield_signal() noexcept {
    const ErrnoGuard keep;
    running = false;
    syscall(SYS_timer_delete, timer);
    struct sigaction action{};
    action.sa_handler = SIG_IGN; // discards a pending tick
    real_sigaction(sampling_signal(), &action, nullptr);
    action.sa_handler = SIG_DFL;
    real_sigaction(sampling_signal(), &action, nullptr);
}

// Whether this process's own timer runs: not in a child that shares its parent's memory (vfork).
bool runs_here() noexcept { return running && owner_of_samples.pid == static_cast<uint32_t>(getpid()); }

// Whether a debugger intercepts every signal: gdb stops at each, strace prints it.
bool is_traced() noexcept {
    char text[512];
    const size_t length = read_file("/proc/self/status", text, sizeof text - 1);
    text[length] = '\0';
    const char *line = strstr(text, "\nTracerPid:");
    return line != nullptr && strtoul(line + sizeof "\nTracerPid:" - 1, nullptr, 10) != 0;
}

constexpr size_t kMaxWords = 16;
constexpr uintptr_t kPage = 4096;

// A tick in the kernel is delivered after the current system call. (In a page fault it is delivered at the
// faulting instruction.)
bool follows_syscall(uint64_t pointer) noexcept {
    constexpr uint8_t kSyscall[] = {0x0f, 0x05};         // the instruction
    if (pointer % kPage < sizeof kSyscall) return false; // the page before may not be mapped
    return memcmp(reinterpret_cast<const uint8_t *>(pointer) - sizeof kSyscall, kSyscall, sizeof kSyscall) ==
           0;
}

// How many words from the top of the stack can certainly be read.
size_t words_on_page(const uint64_t *stack) noexcept {
    const size_t words = (kPage - reinterpret_cast<uintptr_t>(stack) % kPage) / sizeof *stack;
    return words < kMaxWords ? words : kMaxWords;
}

void take_sample(int, siginfo_t *, void *context) {
    const ErrnoGuard keep;
    int idle = 0;
    if (!__atomic_compare_exchange_n(&writing, &idle, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return;
    const auto *machine = static_cast<const ucontext_t *>(context);
    const auto pointer = static_cast<uint64_t>(machine->uc_mcontext.gregs[REG_RIP]);
    // The module table has a lock, which the interrupted thread may hold.
    const bool was_busy = thread_state.busy;
    thread_state.busy = true; // to the end: a page of the file may be lost, see lost_pages.cpp
    if (!was_busy) image.define_module(pointer);
    const auto *stack = reinterpret_cast<const uint64_t *>(machine->uc_mcontext.gregs[REG_RSP]);
    const bool kernel = follows_syscall(pointer);
    const size_t count =
        kernel ? words_on_page(stack) : 1; // the return address of a function that calls none
    uint8_t body[(6 + kMaxWords) * format::kMaxVarint];
    if (uint8_t *out =
            samples.begin(*trace_of_samples, REAP_BLOCK_OUTSIDE, owner_of_samples, sizeof body + 8)) {
        uint8_t *end = samples.put_plain_stamp(body, image.now());
        end = format::put_varint(end, owner_of_samples.pid);
        end = format::put_varint(end, thread_id());
        end = format::put_varint(end, kernel ? 1 : 0);
        end = format::put_varint(end, pointer);
        end = format::put_varint(end, count);
        for (size_t i = 0; i < count; ++i) end = format::put_varint(end, stack[i]);
        samples.commit(RecordStream::put_long(out, REAP_TAG_IP, body, static_cast<size_t>(end - body)));
    }
    thread_state.busy = was_busy;
    __atomic_store_n(&writing, 0, __ATOMIC_RELEASE);
}

} // namespace

void start_timer_sampler(TraceFile &trace, const Owner &process, uint32_t clock) noexcept {
    const int signal = sampling_signal();
    struct sigaction current{};
    const bool restart = trace_of_samples != nullptr; // the child of a fork already has the handler
    if (restart && !running) return;                  // the parent had yielded the signal
    if (!restart && (real_sigaction(signal, nullptr, &current) != 0 || current.sa_handler != SIG_DFL)) return;
    if (!restart && is_traced()) return;
    trace_of_samples = &trace;
    owner_of_samples = process;
    clock_of_samples = clock;
    samples.forget();
    writing = 0;

    struct sigaction handler{};
    handler.sa_sigaction = take_sample;
    handler.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    sigfillset(&handler.sa_mask);
    sigdelset(&handler.sa_mask, SIGBUS); // of a page of the file that is lost
    running = false;
    if (real_sigaction(signal, &handler, nullptr) != 0) return;

    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = signal;
    if (syscall(SYS_timer_create, CLOCK_PROCESS_CPUTIME_ID, &event, &timer) != 0) return;
    const long period_ns = static_cast<long>(trace.sampler_period_us()) * 1000;
    const itimerspec every{{0, period_ns}, {0, period_ns}};
    running = syscall(SYS_timer_settime, timer, 0, &every, nullptr) == 0;
}

void stop_timer_sampler() noexcept {
    if (runs_here()) yield_signal();
}

} // namespace reap::preload

using namespace reap::preload;

namespace {

REAP_NEXT(real_signal, "signal", sighandler_t(int, sighandler_t));

// Handlers on an alternate stack, to whose masks our signal was added: such a stack may be only as large as
// the handler needs, and a tick while it runs would add a second frame.
bool masked[NSIG];

int with_our_signal_masked(int number, const struct sigaction &action, struct sigaction *old) noexcept {
    struct sigaction widened = action;
    const bool before = masked[number];
    masked[number] =
        (action.sa_flags & SA_ONSTACK) != 0 && sigismember(&action.sa_mask, sampling_signal()) == 0;
    if (masked[number]) sigaddset(&widened.sa_mask, sampling_signal());
    const int status = real_sigaction(number, &widened, old);
    if (status != 0) {
        masked[number] = before;
    } else if (old != nullptr && before) {
        sigdelset(&old->sa_mask, sampling_signal());
    }
    return status;
}

} // namespace

REAP_EXPORT int sigaction(int number, const struct sigaction *action, struct sigaction *old) noexcept {
    if (number == SIGBUS && guards_lost_pages() && image.runs_here()) return change_bus_action(action, old);
    if (!runs_here() || number < 1 || number >= NSIG) return real_sigaction(number, action, old);
    if (number != sampling_signal()) {
        if (action != nullptr) return with_our_signal_masked(number, *action, old);
        const int status = real_sigaction(number, action, old);
        if (status == 0 && old != nullptr && masked[number]) sigdelset(&old->sa_mask, sampling_signal());
        return status;
    }
    if (action != nullptr) {
        yield_signal();
        return real_sigaction(number, action, old);
    }
    if (old != nullptr) *old = {}; // as without the recorder
    return 0;
}

REAP_EXPORT sighandler_t signal(int number, sighandler_t handler) noexcept {
    if (number == SIGBUS && handler != SIG_ERR && guards_lost_pages() && image.runs_here()) {
        struct sigaction action{};
        struct sigaction old{};
        action.sa_handler = handler;
        action.sa_flags = SA_RESTART;
        sigaddset(&action.sa_mask, SIGBUS);
        return change_bus_action(&action, &old) == 0 ? old.sa_handler : SIG_ERR;
    }
    if (number == sampling_signal() && runs_here()) yield_signal();
    if (number > 0 && number < NSIG) masked[number] = false; // `signal` does not use the alternate stack
    return real_signal(number, handler);
}
