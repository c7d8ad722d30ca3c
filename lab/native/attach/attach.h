// Watches the allocations of a process that runs already, in windows of time, into a recording.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

#include "reap_trace.h"

namespace reap::native {

struct AttachOptions {
    pid_t process = 0;
    double seconds = 10;
    double most_overhead = 0.05;  // of the CPU time of the process
    std::function<void()> create; // makes the trace, in triage and with CLOCK_MONOTONIC
};

struct Attached {
    bool ended = false;       // the process did
    bool interrupted = false; // this one was
    decltype(reap_file_header::attach) seen{};
    double call_ns = 0; // what a call that met a probe cost the process, on average
};

// `path` is where `create` makes the trace, which is called once nothing is refused. `interrupted` is asked
// 50 times a second. The process is not stopped, and nothing enters it: the kernel sets breakpoints on the
// functions by which it allocates, for a while, and removes them, however this process ends. Throws
// AttachFailure where that is refused, and std::system_error where the recording cannot be written.
Attached attach(const std::string &path, const AttachOptions &options,
                const std::function<bool()> &interrupted);

} // namespace reap::native
