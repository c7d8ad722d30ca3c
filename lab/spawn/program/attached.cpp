// SPDX-License-Identifier: MIT
#include "program/attached.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "proc/tree.h"

namespace reap::spawn {
namespace {

constexpr std::int64_t usage_period_ns = 100'000'000;

/// What /proc/PID/stat counts of a process.
struct Usage {
    bool known = false;
    std::uint64_t minor = 0;
    std::uint64_t major = 0;
    std::uint64_t user_ticks = 0;
    std::uint64_t system_ticks = 0;
    std::uint64_t started = 0;
};

Usage usage_of(pid_t process) {
    Usage out;
    char path[64];
    char text[1024];
    std::snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(process));
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return out;
    const ssize_t got = read(file, text, sizeof text - 1);
    close(file);
    if (got <= 0) return out;
    text[got] = '\0';
    const char *at = std::strrchr(text, ')'); // the name before it may hold anything
    if (at == nullptr || std::strlen(at) < 4) return out;
    if (at[2] == 'Z' || at[2] == 'X') return out;
    at += 3;
    std::uint64_t fields[20] = {}; // from the fourth on
    for (std::uint64_t &field : fields) {
        char *end = nullptr;
        field = std::strtoull(at, &end, 10);
        at = end;
    }
    out = {true, fields[6], fields[8], fields[10], fields[11], fields[18]};
    return out;
}

/// What a process and its descendants have used since this was made. One that ends counts as far as it was
/// seen.
class TreeUsage {
  public:
    explicit TreeUsage(pid_t root) : root_(root) {
        look();
        for (int i = 0; i < count_; ++i) seen_[i].before = seen_[i].after;
    }

    void look() {
        static pid_t tree[most];
        const int count = list_tree(root_, tree, most);
        for (int i = 0; i < count; ++i) {
            const Usage usage = usage_of(tree[i]);
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
    static constexpr int most = 4096;
    struct Entry {
        pid_t process = 0;
        Usage before; // nothing, of one that began since
        Usage after;
    };

    Entry &entry(pid_t process, std::uint64_t started) {
        for (int i = 0; i < count_; ++i) {
            if (seen_[i].process == process && seen_[i].after.started == started) return seen_[i];
        }
        if (count_ == most) return beyond_;
        seen_[count_].process = process;
        return seen_[count_++];
    }

    pid_t root_;
    int count_ = 0;
    Entry beyond_; // of more processes, what they use is not known
    Entry seen_[most];
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

/// Every thread takes an event on each processor. Nobody else is in this process whom the limit is for.
void allow_descriptors() {
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
    allow_descriptors();
    const Usage before = usage_of(process);
    const std::int64_t start = now_ns();
    int error = alive < 0 || !before.known ? ESRCH : 0;
    if (error == 0 && !watcher.attach_running(process)) error = errno != 0 ? errno : ESRCH;
    if (error != 0) return dprintf(fd, "{\"errno\":%d}\n", error) > 0;
    static TreeUsage used(process); // large, and there is one
    std::int64_t next_look = start + usage_period_ns;
    bool ended = false;
    for (std::int64_t now = start; !ended && now < start + duration_ns; now = now_ns()) {
        const std::int64_t due = std::min(watcher.next_tick(), start + duration_ns);
        const std::int64_t left = std::max<std::int64_t>(due - now, 0);
        const timespec timeout{left / 1'000'000'000, left % 1'000'000'000};
        pollfd watched[2] = {{alive, POLLIN, 0}, {signals, POLLIN, 0}};
        ppoll(watched, 2, &timeout, nullptr);
        if (watched[1].revents != 0) break;
        const Usage usage = usage_of(process);
        // A pid that somebody else has by now is that of an ended process.
        ended = watched[0].revents != 0 || !usage.known || usage.started != before.started;
        if (ended) break;
        if (now_ns() >= next_look) {
            used.look();
            next_look = now_ns() + usage_period_ns;
        }
        if (watcher.next_tick() <= now_ns()) watcher.tick(now_ns());
    }
    const std::int64_t wall = now_ns() - start;
    used.look();
    watcher.detach();
    return write_line(fd, ended, wall, used.total());
}

} // namespace reap::spawn
