// SPDX-License-Identifier: MIT
#include "proc/tree.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <signal.h>

#include "proc/tasks.h"
#include "proc/text_file.h"

namespace reap::spawn {
namespace {

struct Process {
    pid_t pid;
    pid_t parent;
    bool descendant;
};

// Further processes are left to the next walk.
constexpr int max_processes = 1 << 15;
Process processes[max_processes];

/// Whether all threads of a process have ended. `state` is /proc/PID/stat from its third field on. A process
/// whose first thread alone has ended is also shown as a zombie, and continues.
bool has_ended(const char *state) {
    if (*state != 'Z') return false;
    const char *at = state;
    for (int field = 3; at != nullptr && field < 20; ++field) at = std::strchr(at + 1, ' ');
    return at == nullptr || std::strtol(at, nullptr, 10) <= 1;
}

/// Reads the parent of a process. False if it has ended.
bool read_parent(pid_t pid, pid_t &parent) {
    char text[512];
    const char *state = read_state(pid, text);
    if (state == nullptr) return false;
    parent = static_cast<pid_t>(std::strtol(state + 1, nullptr, 10));
    return !has_ended(state);
}

int list_processes() {
    DIR *folder = opendir("/proc");
    if (folder == nullptr) return 0;
    int count = 0;
    while (const dirent *entry = readdir(folder)) {
        const auto pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10)); // 0: not a process
        pid_t parent = 0;
        if (pid > 0 && count < max_processes && read_parent(pid, parent))
            processes[count++] = {pid, parent, false};
    }
    closedir(folder);
    return count;
}

/// Appends the children of a process to a list of `count` entries; returns the new number of entries.
int add_children(pid_t process, pid_t *out, int count, int limit) {
    for_each_thread(process, [&](pid_t thread) {
        for_each_child(process, thread, [&](pid_t child) {
            if (count >= limit) return false;
            out[count++] = child;
            return true;
        });
    });
    return count;
}

bool is_descendant(pid_t pid, pid_t root, int count) {
    if (pid == root) return true;
    return std::any_of(processes, processes + count,
                       [pid](const Process &p) { return p.pid == pid && p.descendant; });
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
    // A child may precede its parent in /proc, as pids wrap around: repeat until nothing is found.
    for (bool found = true; found;) {
        found = false;
        for (int i = 0; i < count; ++i) {
            if (!processes[i].descendant && is_descendant(processes[i].parent, root, count))
                found = processes[i].descendant = true;
        }
    }
    int sent = 0;
    for (int i = 0; i < count; ++i) {
        if (processes[i].descendant && kill(processes[i].pid, signal) == 0) ++sent;
    }
    return sent;
}

} // namespace reap::spawn
