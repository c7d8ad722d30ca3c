// What ends the kit: a sentence, what to do next, and the exit code.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace reap::kit {

// As ExitCode in lab/reap/base/errors.py.
enum ExitCode : int { kUsage = 2, kInternal = 125, kNotExecutable = 126, kNotFound = 127, kSignalled = 128 };

class Refusal : public std::runtime_error {
  public:
    Refusal(const std::string &what, std::string hint, ExitCode code = kInternal)
        : std::runtime_error(what), hint_(std::move(hint)), code_(code) {}

    [[nodiscard]] const std::string &hint() const noexcept { return hint_; }
    [[nodiscard]] ExitCode code() const noexcept { return code_; }

  private:
    std::string hint_;
    ExitCode code_;
};

} // namespace reap::kit
