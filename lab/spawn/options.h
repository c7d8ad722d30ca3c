/* The command line of the launcher.
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
    const char *program = nullptr;  ///< file to execute; argv[0] if not given
    char **argv = nullptr;          ///< the program's own arguments, null-terminated
    char **environment = nullptr;   ///< the program's environment, null-terminated
    const char *input = nullptr;    ///< file for its standard input; null: inherited
    bool capture = false;           ///< count, hash and discard its output; false: stdio is inherited
    const char *keep = nullptr;     ///< file that captured output is appended to, too; null: discarded
    std::uint64_t ignored = 0;      ///< signals that it ignores from its start: bit N - 1 for number N
    bool check_sampling = false;    ///< run no program: test whether instruction pointers can be sampled
    bool huge_pages = true;         ///< false: no transparent huge pages for the program
    const char *resident = nullptr; ///< file for samples of its memory; null: none
    bool count = false;             ///< count `event` while the program runs
    Event event;
    const char *trace = nullptr;  ///< trace to write samples and resident memory to; null: none
    const char *socket = nullptr; ///< REAP_SOCKET_ENV of a recorded program; null: not recorded
    const char *held = nullptr;   ///< folder for the modules' files that are gone in the end; null: none
    Watch watch;                  ///< what else to write to the trace
    pid_t attach = 0;             ///< run no program: watch this process
    std::int64_t timeout_ns = 0;  ///< 0: none
    std::int64_t grace_ns = 1'000'000'000; ///< from SIGTERM to SIGKILL
    int result_fd = 1;                     ///< where to write the result
    static constexpr int max_private_folders = 16;
    static constexpr int max_copied_files = 256;
    const char *private_folder[max_private_folders] = {}; ///< folders that it gets a copy-on-write view of
    int private_folders = 0;
    const char *copied_file[max_copied_files] = {}; ///< files in these that are copied before it starts
    int copied_files = 0;
    const char *private_at = nullptr; ///< an empty folder that the view is set up in
    int core = -1;                    ///< the only core that the program may use, in long slices; -1: any
    int ready_fd = -1;                ///< written to when the program is ready; -1: it starts at once
    int start_fd = -1;                ///< the program starts when the other end of this is closed
};

/// Parses the command line. On an error prints it to standard error and returns false.
bool parse_options(int argc, char **argv, char **environment, Options &options);

} // namespace reap::spawn

#endif
