// Why a running process cannot be attached to.
#pragma once

#include <stdexcept>
#include <string>

namespace reap::native {

// What the kernel or the process refused. `step` says which: "process", "format", "symbols", "uprobes",
// "perf" or "bpf"; `number` is the errno, or 0.
class AttachFailure : public std::runtime_error {
  public:
    AttachFailure(std::string step, int number, const std::string &detail = {})
        : std::runtime_error(detail), step_(std::move(step)), number_(number) {}

    [[nodiscard]] const std::string &step() const noexcept { return step_; }
    [[nodiscard]] int number() const noexcept { return number_; }

  private:
    std::string step_;
    int number_;
};

} // namespace reap::native
