/* The threads of a process, and the children of each, as /proc lists them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_TASKS_H
#define REAP_SPAWN_TASKS_H

#include <dirent.h>
#include <sys/types.h>

#include <cstdio>
#include <cstdlib>

#include "proc/text_file.h"

namespace reap::spawn {

/// Calls `visit(thread)` for each thread of a process. False if the process does not exist.
template <class Visit>
bool for_each_thread(pid_t process, Visit visit) {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/task", static_cast<int>(process));
    DIR *threads = opendir(path);
    if (threads == nullptr) return false;
    while (const dirent *entry = readdir(threads)) {
        const auto thread = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
        if (thread > 0) visit(thread);
    }
    closedir(threads);
    return true;
}

/// Calls `visit(child)` for each child that one thread has forked, until it returns false.
template <class Visit>
void for_each_child(pid_t process, pid_t thread, Visit visit) {
    char path[96];
    char children[8192];
    std::snprintf(path, sizeof path, "/proc/%d/task/%d/children", static_cast<int>(process),
                  static_cast<int>(thread));
    read_text(path, children, sizeof children);
    char *end = children;
    for (char *at = children;; at = end) {
        const long child = std::strtol(at, &end, 10);
        if (end == at || !visit(static_cast<pid_t>(child))) return;
    }
}

} // namespace reap::spawn

#endif
