// SPDX-License-Identifier: MIT
#include "proc/resident.h"

#include <cstdio>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "proc/text_file.h"

namespace reap::spawn {
namespace {

/// A tree deeper or a process with more threads than this is not looked through to its end: looking must
/// stay cheap beside what is looked at.
constexpr int most_depth = 16;
constexpr int most_threads = 16;

std::uint64_t below(pid_t pid, int depth);

/// The children that one thread of a process has forked.
std::uint64_t children_of(pid_t pid, const char *thread, int depth) {
    char path[96];
    char text[4096];
    std::snprintf(path, sizeof path, "/proc/%d/task/%s/children", static_cast<int>(pid), thread);
    read_text(path, text, sizeof text);
    std::uint64_t bytes = 0;
    char *at = text;
    for (char *end = text;; at = end) {
        const long child = std::strtol(at, &end, 10);
        if (end == at) return bytes;
        bytes += own_resident_bytes(static_cast<pid_t>(child)) + below(static_cast<pid_t>(child), depth + 1);
    }
}

std::uint64_t below(pid_t pid, int depth) {
    if (depth >= most_depth) return 0;
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/task", static_cast<int>(pid));
    DIR *threads = opendir(path);
    if (threads == nullptr) return 0;
    std::uint64_t bytes = 0;
    int count = 0;
    while (const dirent *entry = readdir(threads)) {
        if (entry->d_name[0] == '.' || count++ >= most_threads) continue;
        bytes += children_of(pid, entry->d_name, depth);
    }
    closedir(threads);
    return bytes;
}

} // namespace

std::uint64_t own_resident_bytes(pid_t pid) {
    char path[64];
    char text[128];
    std::snprintf(path, sizeof path, "/proc/%d/statm", static_cast<int>(pid));
    if (read_text(path, text, sizeof text) == 0) return 0;
    // The second number; 0 where there is none.
    char *size_end = text;
    std::strtoull(text, &size_end, 10);
    return std::strtoull(size_end, nullptr, 10) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

std::uint64_t resident_bytes(pid_t root) { return below(root, 0); }

} // namespace reap::spawn
