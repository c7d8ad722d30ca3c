// SPDX-License-Identifier: MIT
#include "program/attached.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "proc/text_file.h"
#include "proc/tree.h"

namespace reap::spawn {
namespace {

constexpr std::int64_t usage_period_ns = 100'000'000;

/// The resource usage of a process in /proc/PID/stat.
struct Usage {
    bool known = false;
    std::uint64_t minor = 0;
    std::uint64_t major = 0;
    std::uint64_t user_ticks = 0;
    std::uint64_t system_ticks = 0;
    std::uint64_t started = 0;
};

Usage read_usage(pid_t process) {
    Usage out;
    char text[1024];
    const char *state = read_state(process, text);
    if (state == nullptr || *state == 'Z' || *state == 'X') return out;
    const char *at = state + 1;
    std::uint64_t fields[20] = {}; // from the fourth on
    for (std::uint64_t &field : fields) {
        char *end = nullptr;
        field = std::strtoull(at, &end, 10);
        at = end;
    }
    out = {true, fields[6], fields[8], fields[10], fields[11], fields[18]};
    return out;
}

/// The resource usage of a process and its descendants since construction. A process that ends counts up to
/// its last update.
class TreeUsage {
  public:
    explicit TreeUsage(pid_t root) : root_(root) {
        update();
        for (int i = 0; i < count_; ++i) seen_[i].before = seen_[i].after;
    }

    void update() {
        static pid_t tree[max_processes];
        const int count = list_tree(root_, tree, max_processes);
        for (int i = 0; i < count; ++i) {
            const Usage usage = read_usage(tree[i]);
            if (usage.known) entry(tree[i], usage.started).after = usage;
        }
    }

    [[nodiscard]] Usage total() const {
        Usage out;
        for (int i = 0; i < count_; ++i) {
            out.minor += seen_[i].after.minor - seen_[i].before.minor;
            out.major += seen_[i].after.major - seen_[i].before.major;
            out.user_ticks += seen_[i].after.user_ticks - seen_[i].before.user_ticks;
            out.system_ticks += seen_[i].after.system_ticks - seen_[i].before.system_ticks;
        }
        return out;
    }

  private:
    static constexpr int max_processes = 4096;
    struct Entry {
        pid_t process = 0;
        Usage before; // zero for a process that started later
        Usage after;
    };

    Entry &entry(pid_t process, std::uint64_t started) {
        for (int i = 0; i < count_; ++i) {
            if (seen_[i].process == process && seen_[i].after.started == started) return seen_[i];
        }
        if (count_ == max_processes) return overflow_;
        seen_[count_].process = process;
        return seen_[count_++];
    }

    pid_t root_;
    int count_ = 0;
    Entry overflow_; // the usage of further processes is lost
    Entry seen_[max_processes];
};

std::int64_t nanoseconds(std::uint64_t ticks) {
    return static_cast<std::int64_t>(ticks) * (1'000'000'000 / sysconf(_SC_CLK_TCK));
}

bool write_line(int fd, bool ended, std::int64_t wall, const Usage &used) {
    return dprintf(fd,
                   "{\"ended\":%s,\"wall_ns\":%lld,\"user_ns\":%lld,\"system_ns\":%lld,\"minor_faults\":%llu,"
                   "\"major_faults\":%llu,\"errno\":0}\n",
                   ended ? "true" : "false", static_cast<long long>(wall),
                   static_cast<long long>(nanoseconds(used.user_ticks)),
                   static_cast<long long>(nanoseconds(used.system_ticks)),
                   static_cast<unsigned long long>(used.minor),
                   static_cast<unsigned long long>(used.major)) > 0;
}

/// Every thread needs a descriptor per CPU and event.
void raise_descriptor_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

} // namespace

bool watch_running(pid_t process, std::int64_t duration_ns, Watcher &watcher, int fd) {
    sigset_t mask;
    sigemptyset(&mask);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&mask, signal);
    sigprocmask(SIG_BLOCK, &mask, nullptr);
    const int signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    const int alive = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
    raise_descriptor_limit();
    const Usage before = read_usage(process);
    const std::int64_t start = now_ns();
    int error = alive < 0 || !before.known ? ESRCH : 0;
    if (error == 0 && !watcher.attach_running(process)) error = errno != 0 ? errno : ESRCH;
    if (error != 0) return dprintf(fd, "{\"errno\":%d}\n", error) > 0;
    static TreeUsage used(process); // static because it is large
    std::int64_t next_update = start + usage_period_ns;
    bool ended = false;
    for (std::int64_t now = start; !ended && now < start + duration_ns; now = now_ns()) {
        const std::int64_t due = std::min(watcher.next_tick(), start + duration_ns);
        const std::int64_t left = std::max<std::int64_t>(due - now, 0);
        const timespec timeout{left / 1'000'000'000, left % 1'000'000'000};
        pollfd watched[2] = {{alive, POLLIN, 0}, {signals, POLLIN, 0}};
        ppoll(watched, 2, &timeout, nullptr);
        if (watched[1].revents != 0) break;
        const Usage usage = read_usage(process);
        // If the pid has been reused, the process has ended.
        ended = watched[0].revents != 0 || !usage.known || usage.started != before.started;
        if (ended) break;
        if (now_ns() >= next_update) {
            used.update();
            next_update = now_ns() + usage_period_ns;
        }
        if (watcher.next_tick() <= now_ns()) watcher.tick(now_ns());
    }
    const std::int64_t wall = now_ns() - start;
    used.update();
    watcher.detach();
    return write_line(fd, ended, wall, used.total());
}

} // namespace reap::spawn
