// SPDX-License-Identifier: MIT
#include "observe/watcher.h"

#include <cerrno>
#include <unistd.h>

#include "proc/resident.h"
#include "proc/tasks.h"
#include "proc/tree.h"

namespace reap::spawn {
namespace {

constexpr std::int64_t flush_period_ns = 1'000'000'000;
/// Reported for an event that was not requested.
constexpr int not_requested = ECANCELED;
constexpr int max_processes = 4096;

} // namespace

bool Watcher::open(pid_t process) {
    first_ = process;
    samples_error_ = watch_.samples ? 0 : not_requested;
    faults_error_ = watch_.faults ? 0 : not_requested;
    calls_error_ = watch_.calls ? 0 : not_requested;
    next_flush_ = now_ns() + flush_period_ns;
    return trace_.open(path_, process);
}

bool Watcher::attach(pid_t child) {
    if (!open(child)) return false;
    server_.open(socket_);
    attach_thread(child, false);
    record_sampler();
    return true;
}

bool Watcher::attach_running(pid_t process) {
    if (!open(process)) return false;
    process_ = process;
    static pid_t tree[max_processes];
    const int count = list_tree(process, tree, max_processes);
    if (!attach_threads(process)) return false;
    for (int i = 1; i < count; ++i) attach_threads(tree[i]); // those that have ended meanwhile are skipped
    record_sampler();
    poller_.poll(process, now_ns(), trace_);
    return true;
}

bool Watcher::attach_threads(pid_t process) {
    return for_each_thread(process, [this](pid_t thread) { attach_thread(thread, true); });
}

void Watcher::record_sampler() {
    if (trace_.header().sampler != REAP_SAMPLER_PERF) return; // the recorder samples
    // EMFILE: the first threads are sampled, as many as there were descriptors for.
    trace_.set_sampler(samples_error_ == 0 || samples_error_ == EMFILE ? REAP_SAMPLER_PERF
                                                                       : REAP_SAMPLER_NONE,
                       samples_.sees_kernel());
}

void Watcher::attach_thread(pid_t thread, bool running) {
    // A thread that has ended meanwhile is not an error.
    const auto failed = [](bool attached) { return attached || errno == ESRCH ? 0 : errno; };
    // The tree of a running process is not known: its earlier forks were not seen.
    const PerfSampler::How how{trace_.header().sampler_period_us, running, true, !running};
    if (samples_error_ == 0) samples_error_ = failed(samples_.attach(thread, how));
    if (faults_error_ == 0) faults_error_ = failed(faults_.attach(thread, running));
    if (calls_error_ == 0) calls_error_ = failed(calls_.attach(thread, running));
}

void Watcher::tick(std::int64_t now) {
    const pid_t root = process_ != 0 ? process_ : getpid();
    trace_.grow();
    poller_.poll(root, now, trace_);
    const std::uint64_t own = process_ != 0 ? own_resident_memory(process_).bytes : 0;
    if (const std::uint64_t bytes = own + resident_memory(root).bytes; bytes > 0) {
        TraceBlocks::Record(trace_, REAP_TAG_RESIDENT, now)
            .number(static_cast<std::uint64_t>(first_))
            .number(bytes)
            .commit();
    }
    if (socket_ != nullptr) unrecorded_.poll(now, trace_);
    drain();
    if (now >= next_flush_) {
        trace_.flush();
        next_flush_ = now + flush_period_ns;
    }
}

void Watcher::drain() {
    samples_.drain(trace_);
    faults_.drain(trace_);
    calls_.drain(trace_);
}

void Watcher::detach() {
    if (process_ != 0) poller_.poll_last(process_, now_ns(), trace_);
    drain();
    TraceBlocks::Record(trace_, REAP_TAG_SEEN, now_ns())
        .number(static_cast<std::uint64_t>(first_))
        .number(REAP_SEEN_WATCHED)
        .number(static_cast<std::uint64_t>(samples_error_))
        .number(samples_.lost())
        .number(static_cast<std::uint64_t>(faults_error_))
        .number(faults_.lost())
        .number(static_cast<std::uint64_t>(calls_error_))
        .number(calls_.lost())
        .commit();
    trace_.flush();
    if (held_ != nullptr) {
        server_.serve(trace_.fd());
        server_.held().write_to(held_);
    }
}

} // namespace reap::spawn
