// Runs the launcher, lab/spawn.
#pragma once

#include <csignal>
#include <string>
#include <vector>

namespace reap::kit {

// Signals for us wait while it lives, or until a launcher runs that they are passed on to: none gets lost.
class Waiting {
  public:
    Waiting();
    ~Waiting();
    Waiting(const Waiting &) = delete;
    Waiting &operator=(const Waiting &) = delete;
    void end() const;

  private:
    sigset_t before_{};
};

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
Outcome launch(const std::string &launcher, const std::vector<std::string> &options, const Waiting &waiting);

} // namespace reap::kit
