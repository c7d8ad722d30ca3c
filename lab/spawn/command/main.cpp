/* reap: the command. Says which signals it was started to ignore, and becomes reap in Python.
 *
 * Python ignores SIGPIPE and SIGXFSZ before any line of reap runs, which then cannot know whether the program
 * has to ignore them, too. Static, as it is started before everything else; beside it lies `reap-python`,
 * which pip makes.
 *
 * SPDX-License-Identifier: MIT
 */
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <signal.h>
#include <unistd.h>

namespace {

constexpr int last_signal = 64;
constexpr char rest_of_name[] = "-python";

/// Bit N - 1 for signal N, as SigIgn in /proc/PID/status has them.
std::uint64_t ignored_signals() {
    std::uint64_t ignored = 0;
    for (int number = 1; number <= last_signal; ++number) {
        struct sigaction action{};
        if (sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN)
            ignored |= std::uint64_t{1} << (number - 1);
    }
    return ignored;
}

} // namespace

int main(int, char **argv) {
    // With our process id, which stays: whoever inherits the variable from us is another process.
    char told[64];
    std::snprintf(told, sizeof told, "%d:%llx", static_cast<int>(getpid()),
                  static_cast<unsigned long long>(ignored_signals()));
    setenv("REAP_STARTED_IGNORING", told, 1);
    char path[PATH_MAX + sizeof rest_of_name] = {};
    const ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
    std::memcpy(path + (length > 0 ? length : 0), rest_of_name, sizeof rest_of_name);
    // NOLINTNEXTLINE(clang-analyzer-optin.taint.GenericTaint): the words are the user's own
    execv(path, argv);
    const int error = errno;
    std::fprintf(stderr, "reap: %s cannot be executed: %s\n  next: install reap-lab again\n", path,
                 std::strerror(error));
    return error == ENOENT ? 127 : 126;
}
