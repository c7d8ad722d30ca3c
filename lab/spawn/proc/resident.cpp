// SPDX-License-Identifier: MIT
#include "proc/resident.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#include "proc/tasks.h"
#include "proc/text_file.h"

namespace reap::spawn {
namespace {

/// Deeper levels of the tree, and further threads of a process, are skipped so that one sample stays cheap.
constexpr int max_depth = 16;
constexpr int max_threads = 16;

/// Calls `visit(pid)` for each living descendant of a process.
template <class Visit>
void for_each_descendant(pid_t pid, int depth, const Visit &visit) {
    if (depth >= max_depth) return;
    int count = 0;
    for_each_thread(pid, [&](pid_t thread) {
        if (count++ >= max_threads) return;
        for_each_child(pid, thread, [&](pid_t child) {
            visit(child);
            for_each_descendant(child, depth + 1, visit);
            return true;
        });
    });
}

/// The figure of the line `Pss:`, which /proc/PID/smaps_rollup has in kilobytes.
std::uint64_t own_proportional_memory(pid_t pid) {
    char path[64];
    char text[1024];
    std::snprintf(path, sizeof path, "/proc/%d/smaps_rollup", static_cast<int>(pid));
    read_text(path, text, sizeof text);
    const char *line = std::strstr(text, "\nPss:");
    if (line == nullptr) return own_resident_memory(pid).bytes;
    return std::strtoull(line + std::strlen("\nPss:"), nullptr, 10) * 1024;
}

} // namespace

Resident own_resident_memory(pid_t pid) {
    char path[64];
    char text[128];
    std::snprintf(path, sizeof path, "/proc/%d/statm", static_cast<int>(pid));
    if (read_text(path, text, sizeof text) == 0) return {};
    // The second number, and the third, which is what of it is in files or shared; 0 if there is none.
    char *end = text;
    std::strtoull(text, &end, 10);
    const std::uint64_t pages = std::strtoull(end, &end, 10);
    const std::uint64_t shared = std::strtoull(end, nullptr, 10);
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    return {pages * page, pages > shared ? (pages - shared) * page : 0};
}

Resident resident_memory(pid_t root) {
    Resident sum;
    for_each_descendant(root, 0, [&](pid_t pid) {
        const Resident own = own_resident_memory(pid);
        sum = {sum.bytes + own.bytes, sum.anonymous + own.anonymous};
    });
    return sum;
}

std::uint64_t proportional_memory(pid_t root) {
    std::uint64_t sum = 0;
    for_each_descendant(root, 0, [&](pid_t pid) { sum += own_proportional_memory(pid); });
    return sum;
}

} // namespace reap::spawn
