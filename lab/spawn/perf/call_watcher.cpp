// SPDX-License-Identifier: MIT
#include "perf/call_watcher.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <initializer_list>
#include <sys/syscall.h>
#include <unistd.h>

#include "perf/sample.h"
#include "proc/descriptors.h"

namespace reap::spawn {
namespace {

constexpr std::size_t ring_pages = 512;

constexpr long watched[] = {SYS_brk,   SYS_mmap, SYS_munmap,   SYS_mremap,  SYS_madvise,
                            SYS_futex, SYS_read, SYS_recvfrom, SYS_recvmsg, SYS_readv};

/// Watched on return, and only if they return a connection.
constexpr long accepting[] = {SYS_accept, SYS_accept4};

/// Descriptors of this number or more are not tracked.
constexpr std::uint64_t max_descriptors = CallWatcher::max_descriptors;

bool reads(long number) {
    return number == SYS_read || number == SYS_recvfrom || number == SYS_recvmsg || number == SYS_readv;
}

bool accepts(long number) { return number == SYS_accept || number == SYS_accept4; }

/// The id of the tracepoint raw_syscalls:NAME; 0 if it is not available.
std::uint64_t find_tracepoint(const char *name) {
    for (const char *folder : {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}) {
        char path[128];
        std::snprintf(path, sizeof path, "%s/events/raw_syscalls/%s/id", folder, name);
        const int file = open(path, O_RDONLY | O_CLOEXEC);
        if (file < 0) continue;
        char text[32] = "";
        const ssize_t got = read(file, text, sizeof text - 1);
        close(file);
        if (got > 0) return std::strtoull(text, nullptr, 10);
    }
    return 0;
}

class Writer final : public RecordHandler {
  public:
    Writer(TraceBlocks &trace, bool *accepted, bool &has_connections)
        : trace_(trace), accepted_(accepted), has_connections_(has_connections) {}

    void handle(const perf_event_header &header, Fields fields) override {
        if (header.type != PERF_RECORD_SAMPLE) return;
        fields.next<std::uint64_t>(); // the kernel's instruction pointer
        const auto pid = fields.next<std::uint32_t>();
        const auto tid = fields.next<std::uint32_t>();
        const auto time = fields.next<std::uint64_t>();
        const auto length = fields.next<std::uint32_t>();
        const unsigned char *raw = fields.skip(length);
        if (raw == nullptr || length < 3 * sizeof(std::uint64_t)) return;
        // Eight bytes common to all tracepoints; the number; the arguments.
        Fields called(raw + sizeof(std::uint64_t), raw + length);
        const auto number = called.next<std::int64_t>();
        const auto value = called.next<std::uint64_t>(); // the first argument, or what accept returned
        const UserSide user = read_user_side(fields);
        if (!fields.good() || number < 0) return;
        if (accepts(number)) {
            has_connections_ = true;
            if (value < max_descriptors) accepted_[value] = true;
        }
        if (reads(number) && !is_socket(static_cast<pid_t>(pid), number, value)) return;
        TraceBlocks::Record record(trace_, REAP_TAG_SEEN, static_cast<std::int64_t>(time));
        record.number(pid).number(REAP_SEEN_CALL).number(tid).number(static_cast<std::uint64_t>(number));
        record.number(user.pointer);
        user.put_words(record);
        record.commit();
    }

  private:
    /// The descriptor may be closed by now: then it is a socket if it was accepted. Or its number may have
    /// been reused, as in a program that reads its own files first and then serves: reads before the first
    /// accepted connection are not requests.
    bool is_socket(pid_t pid, long number, std::uint64_t descriptor) const {
        if (number == SYS_recvfrom || number == SYS_recvmsg) return true;
        if (!has_connections_ && descriptor > STDERR_FILENO) return false;
        const reap_waited_for what = waited_for(pid, static_cast<int>(descriptor));
        if (what != REAP_WAITED_UNKNOWN) return what == REAP_WAITED_SOCKET;
        return descriptor < max_descriptors && accepted_[descriptor];
    }

    TraceBlocks &trace_;
    bool *accepted_;
    bool &has_connections_;
};

/// `id==1||id==2||...`
template <std::size_t size>
int put_numbers(char (&text)[512], const long (&numbers)[size]) {
    int length = 0;
    for (const long number : numbers) {
        length += std::snprintf(text + length, sizeof text - static_cast<std::size_t>(length), "%sid==%ld",
                                length == 0 ? "" : "||", number);
    }
    return length;
}

int open_tracepoint(PerfRings &rings, pid_t thread, bool running, const char *name, const char *filter) {
    const std::uint64_t tracepoint = find_tracepoint(name);
    if (tracepoint == 0) return ENOENT;
    perf_event_attr attributes = begin_attributes(PERF_TYPE_TRACEPOINT, tracepoint, 1, running);
    attributes.sample_type |= PERF_SAMPLE_RAW;
    return rings.open(thread, attributes, ring_pages, filter);
}

} // namespace

bool CallWatcher::attach(pid_t thread, bool running) {
    char entered[512];
    char numbers[512];
    char left[600];
    has_connections_ = has_connections_ || running;
    put_numbers(entered, watched);
    put_numbers(numbers, accepting);
    std::snprintf(left, sizeof left, "(%s)&&ret>=0", numbers);
    int error = open_tracepoint(rings_, thread, running, "sys_enter", entered);
    if (error == 0) error = open_tracepoint(rings_, thread, running, "sys_exit", left);
    errno = error;
    return error == 0;
}

void CallWatcher::drain(TraceBlocks &trace) {
    Writer writer(trace, accepted_, has_connections_);
    rings_.drain(writer);
}

} // namespace reap::spawn
