// SPDX-License-Identifier: MIT
#include "trace/unrecorded.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "proc/tasks.h"
#include "proc/text_file.h"

namespace reap::spawn {
namespace {

constexpr int max_depth = 16;
constexpr int max_threads = 16;
constexpr int max_processes = 64; ///< in one poll
constexpr const char *recorder = "/libreap-record.so";

/// Identifies the file that a process executes; 0 if that cannot be read.
std::uint64_t program_of(pid_t process) {
    char path[64];
    struct stat status{};
    std::snprintf(path, sizeof path, "/proc/%d/exe", static_cast<int>(process));
    if (stat(path, &status) != 0) return 0;
    return status.st_dev * 0x9e3779b97f4a7c15u + status.st_ino;
}

struct Mapped {
    bool known = false;
    bool trace = false;
    bool recorder = false;
};

/// Whether a process has mapped the trace, and the recorder.
Mapped mapped_by(pid_t process, const struct stat &trace) {
    char text[4352];
    char inode[64];
    std::snprintf(text, sizeof text, "/proc/%d/maps", static_cast<int>(process));
    std::FILE *maps = std::fopen(text, "re");
    Mapped out;
    if (maps == nullptr) return out;
    std::snprintf(inode, sizeof inode, " %llu ", static_cast<unsigned long long>(trace.st_ino));
    while (std::fgets(text, sizeof text, maps) != nullptr) {
        out.known = true;
        // A shared mapping of that inode: the device listed here may differ from the one of stat().
        const char *flags = std::strchr(text, ' ');
        if (flags != nullptr && flags[4] == 's' && std::strstr(text, inode) != nullptr) out.trace = true;
        if (std::strstr(text, recorder) != nullptr) out.recorder = true;
    }
    std::fclose(maps);
    return out;
}

/// The number of a process in its own namespace, by which recordings have it.
std::uint64_t own_number(pid_t process) {
    char path[64];
    char text[4096];
    std::snprintf(path, sizeof path, "/proc/%d/status", static_cast<int>(process));
    const char *line = read_text(path, text, sizeof text) != 0 ? std::strstr(text, "\nNSpid:") : nullptr;
    std::uint64_t number = static_cast<std::uint64_t>(process);
    if (line == nullptr) return number;
    const char *at = line + std::strlen("\nNSpid:");
    for (char *end = nullptr;; at = end) {
        const std::uint64_t next = *at != '\n' ? std::strtoull(at, &end, 10) : 0;
        if (next == 0) return number;
        number = next;
    }
}

} // namespace

void Unrecorded::poll(std::int64_t now, TraceBlocks &trace) {
    checked_ = 0;
    check_children(getpid(), 0, now, trace);
}

void Unrecorded::check_children(pid_t parent, int depth, std::int64_t now, TraceBlocks &trace) {
    if (depth > max_depth) return;
    int count = 0;
    for_each_thread(parent, [&](pid_t thread) {
        if (++count > max_threads) return;
        for_each_child(parent, thread, [&](pid_t child) {
            if (++checked_ > max_processes) return false;
            check(child, now, trace);
            check_children(child, depth + 1, now, trace);
            return true;
        });
    });
}

/// The entry of a process. If two processes share one, the later replaces the earlier.
Unrecorded::Known &Unrecorded::find(pid_t process) {
    Known &entry = known_[static_cast<unsigned>(process) % max_known];
    if (entry.pid != process) entry = {process, 0, false};
    return entry;
}

void Unrecorded::check(pid_t process, std::int64_t now, TraceBlocks &trace) {
    const std::uint64_t program = program_of(process);
    if (program == 0 || program == program_of(getpid())) return; // not executed yet
    Known &known = find(process);
    if (known.program != program) {
        known = {process, program, false};
        return;
    }
    if (known.judged) return;
    known.judged = true;
    struct stat status{};
    if (fstat(trace.fd(), &status) != 0) return;
    const Mapped mapped = mapped_by(process, status);
    if (!mapped.known || mapped.trace) return;
    if (program_of(process) != program) return; // it ended or became another, which cuts its mappings short
    char path[64];
    char executable[4096];
    std::snprintf(path, sizeof path, "/proc/%d/exe", static_cast<int>(process));
    const ssize_t length = readlink(path, executable, sizeof executable - 1);
    if (length <= 0) return;
    executable[length] = '\0';
    TraceBlocks::Record(trace, REAP_TAG_UNRECORDED, now)
        .number(own_number(process))
        .number(mapped.recorder ? REAP_UNRECORDED_NO_TRACE : REAP_UNRECORDED_NOT_LOADED)
        .text(executable)
        .commit();
}

} // namespace reap::spawn
