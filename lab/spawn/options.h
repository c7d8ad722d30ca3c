/* What the launcher was told to do.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_OPTIONS_H
#define REAP_SPAWN_OPTIONS_H

#include <cstdint>

#include "observe/watcher.h"
#include "perf/event_counter.h"

namespace reap::spawn {

/// The command line of the launcher, parsed. Every string points into argv or the environment.
struct Options {
    const char *program = nullptr; ///< file to execute; argv[0] when not given
    char **argv = nullptr;         ///< the program's own arguments, null-terminated
    char **environment = nullptr;  ///< the program's environment, null-terminated
    const char *input = nullptr;   ///< file that becomes its standard input; null: inherited
    bool capture = false;          ///< count, hash and discard its output; false: leave stdio alone
    std::uint64_t ignored = 0;     ///< signals that it ignores from its start: bit N - 1 for number N
    bool check_sampling = false;   ///< run no program: try whether instruction pointers can be sampled
    bool huge_pages = true;        ///< false: the kernel gives the program no transparent huge pages
    bool resident = false;         ///< look at its resident memory over its time
    bool count = false;            ///< count `event` while the program runs
    Event event;
    const char *trace = nullptr;           ///< trace to write samples and resident memory into; null: none
    const char *socket = nullptr;          ///< REAP_SOCKET_ENV of a program that is recorded; null: of none
    Watch watch;                           ///< what else to write into the trace
    pid_t attach = 0;                      ///< run no program: watch this process
    std::int64_t timeout_ns = 0;           ///< 0: none
    std::int64_t grace_ns = 1'000'000'000; ///< from SIGTERM to SIGKILL
    int result_fd = 1;                     ///< where the result goes
    int core = -1;                         ///< the one core that the program may use; -1: any
    int ready_fd = -1;                     ///< written to when the program could start; -1: it starts at once
    int start_fd = -1;                     ///< the program starts when its other end is closed
};

/// Parses the command line. On a mistake says which on standard error and returns false.
bool parse_options(int argc, char **argv, char **environment, Options &options);

} // namespace reap::spawn

#endif
