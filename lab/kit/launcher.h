// Runs the launcher, lab/spawn.
#pragma once

#include <string>
#include <vector>

namespace reap::kit {

struct Outcome {
    int exit_code = 0;
    int signal = 0;          // that ended the program, or the launcher before it ran; 0: none did
    std::string failed_step; // `exec`, or what failed before; empty if the program was executed
    int error = 0;           // why that failed, as errno
};

// Whether instruction pointers can be sampled by perf events here, tried for at most 20 ms.
bool samples(const std::string &launcher);

// Runs a program to its end by the launcher with these options, which end with `--` and the command. Signals
// for us are passed on to the program meanwhile, and afterwards have no effect but for SIGQUIT. Throws
// Refusal where the launcher fails.
Outcome launch(const std::string &launcher, const std::vector<std::string> &options);

} // namespace reap::kit
