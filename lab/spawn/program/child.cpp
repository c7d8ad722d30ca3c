// SPDX-License-Identifier: MIT
#include "program/child.h"

#include <cerrno>
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "program/slice.h"

namespace reap::spawn {
namespace {

struct Pipe {
    int read_end = -1;
    int write_end = -1;
};

bool make_pipe(Pipe &pipe) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    pipe = {ends[0], ends[1]};
    return true;
}

/// A large pipe means fewer context switches for a program that prints much.
constexpr int pipe_bytes = 1 << 20;

[[noreturn]] void fail_in_child(int failure) {
    const int error = errno;
    (void)!write(failure, &error, sizeof error);
    _exit(127);
}

[[noreturn]] void become_program(const Options &options, const sigset_t &mask, int release, int failure,
                                 int output, int errors, pid_t launcher) {
    char byte = 0;
    while (read(release, &byte, 1) < 0 && errno == EINTR) {
    }
    if (options.capture) {
        // A launcher that is killed outright must not leave the program running beside the next measurement.
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != launcher) _exit(127);
        setsid();
        if (dup2(output, STDOUT_FILENO) < 0 || dup2(errors, STDERR_FILENO) < 0) fail_in_child(failure);
    }
    const char *input = options.input != nullptr ? options.input : (options.capture ? "/dev/null" : nullptr);
    if (input != nullptr) {
        const int file = open(input, O_RDONLY | O_CLOEXEC);
        if (file < 0 || dup2(file, STDIN_FILENO) < 0) fail_in_child(failure);
    }
    // Inherited across exec and fork.
    if (options.core >= 0) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(static_cast<unsigned>(options.core), &one);
        if (sched_setaffinity(0, sizeof one, &one) != 0) fail_in_child(failure);
        lengthen_slice();
    }
    if (!options.huge_pages && prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) != 0) fail_in_child(failure);
    for (int number = 1; number <= 64; ++number) {
        if ((options.ignored >> (number - 1) & 1) != 0) signal(number, SIG_IGN);
    }
    sigprocmask(SIG_SETMASK, &mask, nullptr);
    execve(options.program, options.argv, options.environment);
    fail_in_child(failure);
}

} // namespace

bool start_child(const Options &options, const sigset_t &mask, Child &child) {
    Pipe release, failure, output, errors;
    if (!make_pipe(release) || !make_pipe(failure)) return false;
    if (options.capture) {
        if (!make_pipe(output) || !make_pipe(errors)) return false;
        fcntl(output.read_end, F_SETPIPE_SZ, pipe_bytes); // if refused it stays at 64 KB
        fcntl(output.read_end, F_SETFL, O_NONBLOCK);
        fcntl(errors.read_end, F_SETFL, O_NONBLOCK);
    }
    const pid_t launcher = getpid();
    const pid_t pid = fork();
    if (pid < 0) return false;
    if (pid == 0) {
        close(release.write_end);
        become_program(options, mask, release.read_end, failure.write_end, output.write_end, errors.write_end,
                       launcher);
    }
    close(release.read_end);
    close(failure.write_end);
    if (options.capture) {
        close(output.write_end);
        close(errors.write_end);
    }
    child = {pid, release.write_end, failure.read_end, output.read_end, errors.read_end};
    return true;
}

int release_child(Child &child) {
    close(child.release);
    child.release = -1;
    int error = 0;
    ssize_t got;
    while ((got = read(child.failure, &error, sizeof error)) < 0 && errno == EINTR) {
    }
    close(child.failure);
    child.failure = -1;
    return got == static_cast<ssize_t>(sizeof error) ? error : 0;
}

} // namespace reap::spawn
