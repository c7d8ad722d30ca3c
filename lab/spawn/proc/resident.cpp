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

Resident operator+(const Resident &a, const Resident &b) {
    return {a.bytes + b.bytes, a.anonymous + b.anonymous};
}

Resident descendants(pid_t pid, int depth) {
    if (depth >= max_depth) return {};
    Resident sum;
    int count = 0;
    for_each_thread(pid, [&](pid_t thread) {
        if (count++ >= max_threads) return;
        for_each_child(pid, thread, [&](pid_t child) {
            sum = sum + own_resident_memory(child) + descendants(child, depth + 1);
            return true;
        });
    });
    return sum;
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

Resident resident_memory(pid_t root) { return descendants(root, 0); }

} // namespace reap::spawn
