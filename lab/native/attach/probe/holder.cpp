#include "attach/probe/holder.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/clock.h"
#include "attach/failure.h"
#include "attach/probe/program.h"

namespace reap::native {
namespace {

constexpr char kSet = 'S';
constexpr char kRemove = 'R';

// The descriptors of a holder, behind the standard ones.
enum : int { kCommands = 3, kAnswers, kProgram, kFile, kUnused };

constexpr char kPath[] = "/proc/self/fd/6";
static_assert(kFile == 6);

// What BPF_LINK_CREATE reads of a link to uprobes, which older headers lack.
struct LinkAttributes {
    uint32_t program;
    uint32_t target;
    uint32_t type;
    uint32_t flags;
    uint64_t path;
    uint64_t offsets;
    uint64_t reference_counters;
    uint64_t cookies;
    uint32_t count;
    uint32_t uprobe_flags;
    uint32_t process;
    uint32_t unused;
};

int open_link(const Holder::Probe &probe, Holder::Answer &answer) {
    LinkAttributes attributes{};
    attributes.program = kProgram;
    attributes.type = kUprobeMulti;
    attributes.path = reinterpret_cast<uint64_t>(kPath);
    attributes.offsets = reinterpret_cast<uint64_t>(&probe.offset);
    attributes.count = 1;
    attributes.process = static_cast<uint32_t>(probe.process);
    const int link = static_cast<int>(syscall(SYS_bpf, BPF_LINK_CREATE, &attributes, sizeof attributes));
    if (link < 0) answer = {errno, 1};
    return link;
}

int open_event(const Holder::Probe &probe, Holder::Answer &answer) {
    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    attributes.type = probe.event_type;
    attributes.config1 = reinterpret_cast<uint64_t>(kPath); // uprobe_path
    attributes.config2 = probe.offset;                      // probe_offset
    attributes.disabled = 1;                                // no records: the program says all
    const int event = static_cast<int>(
        syscall(SYS_perf_event_open, &attributes, probe.process, -1, -1, PERF_FLAG_FD_CLOEXEC));
    if (event < 0) {
        answer.error = errno;
        return -1;
    }
    if (::ioctl(event, PERF_EVENT_IOC_SET_BPF, kProgram) == 0) return event;
    answer = {errno, 1};
    ::close(event);
    return -1;
}

// In the child of a process that may have threads: system calls alone.
[[noreturn]] void hold(const Holder::Probe &probe, int commands, int answers) {
    ::setsid();
    sigset_t all;
    sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    ::prctl(PR_SET_NAME, "reap-probe");
    run_promptly();
    const int wanted[] = {commands, answers, probe.program, probe.file};
    int held[4];
    for (int i = 0; i < 4; ++i) held[i] = ::fcntl(wanted[i], F_DUPFD, 64);
    for (int i = 0; i < 4; ++i) ::dup2(held[i], kCommands + i);
    ::closefrom(kUnused); // with a fallback before Linux 5.9
    const int nothing = ::open("/dev/null", O_RDWR);
    for (int standard = 0; standard <= STDERR_FILENO; ++standard) ::dup2(nothing, standard);
    int set = -1;
    char command = 0;
    while (::read(kCommands, &command, 1) == 1) {
        Holder::Answer answer;
        if (command == kSet && set < 0)
            set = probe.event_type == 0 ? open_link(probe, answer) : open_event(probe, answer);
        if (command == kRemove && set >= 0) {
            ::close(set);
            set = -1;
        }
        if (::write(kAnswers, &answer, sizeof answer) != sizeof answer) break;
    }
    ::close(set);
    ::_exit(0);
}

} // namespace

Holder::Holder(const Probe &probe) {
    int commands[2];
    int answers[2];
    if (::pipe2(commands, O_CLOEXEC) != 0) throw AttachFailure("perf", errno);
    if (::pipe2(answers, O_CLOEXEC) != 0) {
        const int error = errno;
        for (const int end : commands) ::close(end);
        throw AttachFailure("perf", error);
    }
    pid_ = ::_Fork();
    const int error = errno;
    if (pid_ == 0) hold(probe, commands[0], answers[1]);
    ::close(commands[0]);
    ::close(answers[1]);
    to_ = commands[1];
    from_ = answers[0];
    if (pid_ > 0) return;
    ::close(to_);
    ::close(from_);
    throw AttachFailure("perf", error);
}

Holder::~Holder() {
    ::close(to_);
    ::close(from_);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

void Holder::ask(bool set) const {
    const char command = set ? kSet : kRemove;
    (void)!::write(to_, &command, 1); // one that is gone does not answer
}

Holder::Answer Holder::answer() const {
    Answer out;
    ssize_t got = 0;
    do {
        got = ::read(from_, &out, sizeof out);
    } while (got < 0 && errno == EINTR);
    if (got != sizeof out) out = {ECHILD, 0};
    return out;
}

} // namespace reap::native
