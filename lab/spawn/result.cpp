// SPDX-License-Identifier: MIT
#include "result.h"

#include <cerrno>
#include <cstdio>
#include <sys/wait.h>
#include <unistd.h>

#include "utf8.h"

namespace reap::spawn {
namespace {

// The tail of standard error, at up to six characters per byte, and the other fields.
char text[Capture::tail_bytes * 6 + 2048];

long long nanoseconds(const timeval &time) {
    return static_cast<long long>(time.tv_sec) * 1'000'000'000 + static_cast<long long>(time.tv_usec) * 1000;
}

bool write_all(int fd, const char *data, std::size_t length) {
    while (length > 0) {
        const ssize_t put = write(fd, data, length);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return false;
        data += put;
        length -= static_cast<std::size_t>(put);
    }
    return true;
}

/// A number as JSON; null if it is negative.
struct Number {
    char text[32] = "null";

    explicit Number(std::int64_t value) {
        if (value >= 0) std::snprintf(text, sizeof text, "%lld", static_cast<long long>(value));
    }
};

int format_failure(const Result &result) {
    return std::snprintf(text, sizeof text, "{\"failed_step\":\"%s\",\"errno\":%d}\n", result.failed_step,
                         result.failed_errno);
}

int format_outcome(const Result &result) {
    static char tail[Capture::tail_bytes];
    static char escaped[Capture::tail_bytes * 6 + 1];
    char output_digest[Capture::digest_bytes] = "";
    char errors_digest[Capture::digest_bytes] = "";
    escape_json(tail, result.errors.tail(tail), escaped);
    if (result.captured) {
        result.output.digest(output_digest);
        result.errors.digest(errors_digest);
    }
    const int status = result.wait_status;
    const rusage &usage = result.usage;
    return std::snprintf(
        text, sizeof text,
        "{\"exit_code\":%d,\"signal\":%d,\"timed_out\":%s,\"wall_ns\":%lld,\"user_ns\":%lld,\"system_ns\":%"
        "lld,"
        "\"peak_resident\":%lld,\"minor_faults\":%ld,\"major_faults\":%ld,\"voluntary_switches\":%ld,"
        "\"involuntary_switches\":%ld,\"stdout_bytes\":%llu,\"stdout_digest\":\"%s\",\"stderr_bytes\":%llu,"
        "\"stderr_digest\":\"%s\",\"stderr_tail\":\"%s\",\"events\":%s,"
        "\"written_bytes\":%s,\"written_digest\":\"%s\"}\n",
        WIFEXITED(status) ? WEXITSTATUS(status) : 0, WIFSIGNALED(status) ? WTERMSIG(status) : 0,
        result.timed_out ? "true" : "false", static_cast<long long>(result.wall_ns),
        nanoseconds(usage.ru_utime), nanoseconds(usage.ru_stime),
        static_cast<long long>(usage.ru_maxrss) * 1024, usage.ru_minflt, usage.ru_majflt, usage.ru_nvcsw,
        usage.ru_nivcsw, static_cast<unsigned long long>(result.output.bytes()), output_digest,
        static_cast<unsigned long long>(result.errors.bytes()), errors_digest, escaped,
        Number(result.events).text, Number(result.written_bytes).text, result.written_digest);
}

} // namespace

bool write_result(int fd, const Result &result) {
    const int length = result.failed_errno != 0 ? format_failure(result) : format_outcome(result);
    return length > 0 && static_cast<std::size_t>(length) < sizeof text &&
           write_all(fd, text, static_cast<std::size_t>(length));
}

} // namespace reap::spawn
