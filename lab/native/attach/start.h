// Holds a program between its loader and its own first instruction.
#pragma once

#include <sys/types.h>

#include <functional>

namespace reap::native {

// By ptrace, from before a process executes a program until this lets it go. Nothing is written to its
// memory: it stops at a breakpoint of the processor. All from one thread. A process that is not let go is
// killed, as it is where this process ends.
class HeldStart {
  public:
    // Throws AttachFailure where the process may not be traced.
    explicit HeldStart(pid_t process);
    ~HeldStart();
    HeldStart(const HeldStart &) = delete;
    HeldStart &operator=(const HeldStart &) = delete;

    // Waits until it has executed a program whose libraries are mapped; false if it has ended before.
    // `interrupted` is asked when a signal comes. Throws AttachFailure.
    bool wait(const std::function<bool()> &interrupted);
    void let_go();

  private:
    enum class Stop : unsigned char { Ended, Executed, Trapped };
    Stop next_stop(const std::function<bool()> &interrupted);
    [[nodiscard]] bool is_at(unsigned long address) const;

    pid_t process_;
    bool held_ = true;
    bool stopped_ = false;
};

} // namespace reap::native
