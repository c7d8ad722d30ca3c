// Watches the allocations of one process in windows of time.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "attach/probe/cost.h"
#include "attach/recording.h"
#include "attach/target.h"

namespace reap::native {

// What all watches of a process tree share.
struct WatchOptions {
    double most_overhead = 0.05; // of the CPU time of each process
    double until = 0;            // of CLOCK_MONOTONIC, in seconds
    double since = 0; // of the same: when there was nothing to watch yet; 0: the watch begins in time
    const std::atomic<bool> *stop = nullptr;
    const std::atomic<unsigned> *watches = nullptr; // at this moment: they share the samples of a second
};

class Watch {
  public:
    // Sets the probes. `python`: stacks have the functions of a Python program. With `linked` calls of linked
    // allocators alone, and those by a file of the name `recorder` are left to it. Throws AttachFailure.
    Watch(pid_t process, const ProbeCost &cost, bool python, LinkedFiles *linked,
          const std::string &recorder);
    ~Watch();
    Watch(const Watch &) = delete;
    Watch &operator=(const Watch &) = delete;

    [[nodiscard]] pid_t process() const noexcept;
    // The file that serves malloc in the process.
    [[nodiscard]] const std::string &provider() const noexcept;

    enum class End : uint8_t { Stopped, Process, Executed };
    // Until the process ends or executes another program, or a stop. Throws AttachFailure, and
    // std::system_error where the recording cannot be written.
    End run(AttachedRecording &recording, const WatchOptions &options);

  private:
    class Windows;
    std::unique_ptr<Windows> windows_;
};

} // namespace reap::native
