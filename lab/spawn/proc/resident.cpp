// SPDX-License-Identifier: MIT
#include "proc/resident.h"

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

#include "proc/tasks.h"
#include "proc/text_file.h"

namespace reap::spawn {
namespace {

/// Deeper levels of the tree, and further threads of a process, are skipped so that one sample stays cheap.
constexpr int max_depth = 16;
constexpr int max_threads = 16;

std::uint64_t descendants(pid_t pid, int depth) {
    if (depth >= max_depth) return 0;
    std::uint64_t bytes = 0;
    int count = 0;
    for_each_thread(pid, [&](pid_t thread) {
        if (count++ >= max_threads) return;
        for_each_child(pid, thread, [&](pid_t child) {
            bytes += own_resident_bytes(child) + descendants(child, depth + 1);
            return true;
        });
    });
    return bytes;
}

} // namespace

std::uint64_t own_resident_bytes(pid_t pid) {
    char path[64];
    char text[128];
    std::snprintf(path, sizeof path, "/proc/%d/statm", static_cast<int>(pid));
    if (read_text(path, text, sizeof text) == 0) return 0;
    // The second number; 0 if there is none.
    char *size_end = text;
    std::strtoull(text, &size_end, 10);
    return std::strtoull(size_end, nullptr, 10) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

std::uint64_t resident_bytes(pid_t root) { return descendants(root, 0); }

} // namespace reap::spawn
