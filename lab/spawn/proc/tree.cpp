// SPDX-License-Identifier: MIT
#include "proc/tree.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "proc/text_file.h"

namespace reap::spawn {
namespace {

struct Process {
    pid_t pid;
    pid_t parent;
    bool below;
};

// More than this many processes at once, and the rest are met by the next walk.
constexpr int most = 1 << 15;
Process processes[most];

/// Whether a text of /proc/PID/stat from its 3rd field on is of a process all of whose threads have ended:
/// one whose first thread alone has is a zombie, too, and goes on.
bool has_ended(const char *state) {
    if (*state != 'Z') return false;
    const char *at = state;
    for (int field = 3; at != nullptr && field < 20; ++field) at = std::strchr(at + 1, ' ');
    return at == nullptr || std::strtol(at, nullptr, 10) <= 1;
}

/// Field 4 of /proc/PID/stat; the name before it is in parentheses and may hold anything.
bool read_parent(pid_t pid, pid_t &parent) {
    char path[64], text[512];
    std::snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(pid));
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    const ssize_t got = read(file, text, sizeof text - 1);
    close(file);
    if (got <= 0) return false;
    text[got] = '\0';
    const char *name_end = std::strrchr(text, ')');
    if (name_end == nullptr || name_end + 4 >= text + got) return false;
    parent = static_cast<pid_t>(std::strtol(name_end + 4, nullptr, 10));
    return !has_ended(name_end + 2);
}

int list_processes() {
    DIR *folder = opendir("/proc");
    if (folder == nullptr) return 0;
    int count = 0;
    while (const dirent *entry = readdir(folder)) {
        const auto pid =
            static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10)); // 0 for what is no process
        pid_t parent = 0;
        if (pid > 0 && count < most && read_parent(pid, parent)) processes[count++] = {pid, parent, false};
    }
    closedir(folder);
    return count;
}

/// Appends the children of a process to a list of `count`; returns how many it has then.
int add_children(pid_t process, pid_t *out, int count, int limit) {
    char path[96];
    std::snprintf(path, sizeof path, "/proc/%d/task", static_cast<int>(process));
    DIR *threads = opendir(path);
    if (threads == nullptr) return count;
    while (const dirent *entry = readdir(threads)) {
        const auto thread = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
        if (thread <= 0) continue;
        std::snprintf(path, sizeof path, "/proc/%d/task/%d/children", static_cast<int>(process),
                      static_cast<int>(thread));
        char children[8192];
        read_text(path, children, sizeof children);
        char *at = children;
        for (char *end = at; count < limit; at = end) {
            const long child = std::strtol(at, &end, 10);
            if (end == at) break;
            out[count++] = static_cast<pid_t>(child);
        }
    }
    closedir(threads);
    return count;
}

bool is_below(pid_t pid, pid_t root, int count) {
    if (pid == root) return true;
    return std::any_of(processes, processes + count,
                       [pid](const Process &p) { return p.pid == pid && p.below; });
}

} // namespace

int list_tree(pid_t root, pid_t *out, int limit) {
    int count = 0;
    if (limit > 0) out[count++] = root;
    for (int at = 0; at < count; ++at) count = add_children(out[at], out, count, limit);
    return count;
}

int signal_descendants(pid_t root, int signal) {
    const int count = list_processes();
    // A child may come before its parent in /proc (pids wrap around): repeat until nothing is new.
    for (bool found = true; found;) {
        found = false;
        for (int i = 0; i < count; ++i) {
            if (!processes[i].below && is_below(processes[i].parent, root, count))
                found = processes[i].below = true;
        }
    }
    int sent = 0;
    for (int i = 0; i < count; ++i) {
        if (processes[i].below && kill(processes[i].pid, signal) == 0) ++sent;
    }
    return sent;
}

} // namespace reap::spawn
