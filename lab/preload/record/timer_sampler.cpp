#include "timer_sampler.h"

#include <csignal>
#include <ctime>
#include <ucontext.h>
#include <unistd.h>

#include "image.h"
#include "platform.h"
#include "record_stream.h"
#include "stamp.h"

namespace reap::preload {
namespace {

TraceFile *trace_of_samples;
Owner owner_of_samples;
uint32_t clock_of_samples;
RecordStream samples;
int writing; // one thread's handler at a time; the others drop their sample

void take_sample(int, siginfo_t *, void *context) {
    const ErrnoGuard keep;
    int idle = 0;
    if (!__atomic_compare_exchange_n(&writing, &idle, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return;
    const auto *machine = static_cast<const ucontext_t *>(context);
    const auto pointer = static_cast<uint64_t>(machine->uc_mcontext.gregs[REG_RIP]);
    // The module table has a lock, and the thread may have been interrupted while it held it.
    if (!thread_state.busy) {
        thread_state.busy = true;
        image.define_module(pointer);
        thread_state.busy = false;
    }
    if (uint8_t *out =
            samples.begin(*trace_of_samples, REAP_BLOCK_OUTSIDE, owner_of_samples, kMostHotBytes)) {
        uint8_t *const length = out + 1;
        *out = REAP_TAG_IP;
        uint8_t *end = samples.put_plain_stamp(length + 1, stamp(clock_of_samples));
        end = format::put_varint(end, owner_of_samples.pid);
        end = format::put_varint(end, thread_id());
        end = format::put_varint(end, 0);
        end = format::put_varint(end, pointer);
        end = format::put_varint(end, 0);
        *length = static_cast<uint8_t>(end - length - 1);
        samples.commit(end);
    }
    __atomic_store_n(&writing, 0, __ATOMIC_RELEASE);
}

} // namespace

void start_timer_sampler(TraceFile &trace, const Owner &process, uint32_t clock) noexcept {
    const int signal = SIGRTMAX - 2;
    struct sigaction current{};
    const bool restart = trace_of_samples != nullptr; // in the child of a fork the handler is there already
    if (!restart && (sigaction(signal, nullptr, &current) != 0 || current.sa_handler != SIG_DFL)) return;
    trace_of_samples = &trace;
    owner_of_samples = process;
    clock_of_samples = clock;
    samples.forget();
    writing = 0;

    struct sigaction handler{};
    handler.sa_sigaction = take_sample;
    handler.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    sigfillset(&handler.sa_mask);
    if (sigaction(signal, &handler, nullptr) != 0) return;

    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = signal;
    timer_t timer{};
    if (timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer) != 0) return;
    const long period_ns = static_cast<long>(trace.sampler_period_us()) * 1000;
    const itimerspec every{{0, period_ns}, {0, period_ns}};
    timer_settime(timer, 0, &every, nullptr);
}

} // namespace reap::preload
