// SPDX-License-Identifier: MIT
#include "trace/unrecorded.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "proc/text_file.h"

namespace reap::spawn {
namespace {

constexpr int most_depth = 16;
constexpr int most_threads = 16;
constexpr int most_looks = 64; ///< processes in one look
constexpr const char *recorder = "/libreap-record.so";

/// Which file a process executes; 0 where that may not be known.
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

/// Whether a process has mapped the trace, and whether it has the recorder.
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
        // Shared and of that inode: the device in this list is not always what stat() says.
        const char *flags = std::strchr(text, ' ');
        if (flags != nullptr && flags[4] == 's' && std::strstr(text, inode) != nullptr) out.trace = true;
        if (std::strstr(text, recorder) != nullptr) out.recorder = true;
    }
    std::fclose(maps);
    return out;
}

} // namespace

void Unrecorded::look(std::int64_t now, TraceBlocks &trace) {
    looked_ = 0;
    look_below(getpid(), 0, now, trace);
}

void Unrecorded::look_below(pid_t parent, int depth, std::int64_t now, TraceBlocks &trace) {
    if (depth > most_depth) return;
    char path[96];
    char text[4096];
    std::snprintf(path, sizeof path, "/proc/%d/task", static_cast<int>(parent));
    DIR *threads = opendir(path);
    if (threads == nullptr) return;
    int count = 0;
    while (const dirent *entry = readdir(threads)) {
        const long thread = std::strtol(entry->d_name, nullptr, 10);
        if (thread <= 0 || ++count > most_threads) continue;
        std::snprintf(path, sizeof path, "/proc/%d/task/%ld/children", static_cast<int>(parent), thread);
        read_text(path, text, sizeof text);
        char *at = text;
        for (char *end = text;; at = end) {
            const auto child = static_cast<pid_t>(std::strtol(at, &end, 10));
            if (end == at || ++looked_ > most_looks) break;
            look_at(child, now, trace);
            look_below(child, depth + 1, now, trace);
        }
    }
    closedir(threads);
}

/// Its place among those that are known. Of two processes with one place the later has it.
Unrecorded::Known &Unrecorded::find(pid_t process) {
    Known &place = known_[static_cast<unsigned>(process) % most];
    if (place.pid != process) place = {process, 0, false};
    return place;
}

void Unrecorded::look_at(pid_t process, std::int64_t now, TraceBlocks &trace) {
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
    char path[64];
    char executable[4096];
    std::snprintf(path, sizeof path, "/proc/%d/exe", static_cast<int>(process));
    const ssize_t length = readlink(path, executable, sizeof executable - 1);
    if (length <= 0) return;
    executable[length] = '\0';
    TraceBlocks::Record(trace, REAP_TAG_UNRECORDED, now)
        .number(static_cast<std::uint64_t>(process))
        .number(mapped.recorder ? REAP_UNRECORDED_NO_TRACE : REAP_UNRECORDED_NOT_LOADED)
        .text(executable)
        .commit();
}

} // namespace reap::spawn
