// Watches the allocations of running processes, in windows of time, into a recording.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attach/failure.h"
#include "attach/process/linked.h"
#include "attach/recording.h"
#include "reap_trace.h"

namespace reap::native {

struct AttachOptions {
    pid_t process = 0; // the root of the tree
    double seconds = 10;
    double most_overhead = 0.05; // of the CPU time of each process
    bool python = true;          // stacks have the functions of Python programs
    std::string recorder; // not empty: beside the recorder of this file name, which is in the processes,
                          // those calls alone that it cannot see
    std::function<void()> create;  // makes the trace, in triage and with CLOCK_MONOTONIC
    std::function<void()> execute; // where the process waits to execute a program: lets it; else empty
};

struct Attached {
    bool ended = false;       // the process did
    bool interrupted = false; // this one was
    bool executed = true;     // the process has executed its program; else it ended before
    unsigned processes = 0;   // that were watched
    unsigned left_out = 0;    // their children that could not be
    decltype(reap_file_header::attach) seen{};
    std::vector<HeldFile> held;           // the files of what was mapped, as it was
    std::vector<LinkedFile> linked;       // beside a recorder: what there was to watch
    std::optional<AttachFailure> refused; // beside a recorder: why nothing of it was watched
    double call_ns = 0;                   // what a call that met a probe cost a process, on average; 0: none
};

// Watches a process, and those that it makes or has made, until it ends. `path` is where `create` makes the
// trace, which is called once nothing is refused. `interrupted` is asked 50 times a second. No process is
// stopped, and nothing enters it: the kernel sets breakpoints on the functions by which it allocates, for a
// while, and removes them, however this process ends. With `execute` the process is held until it is about to
// run its program, and is killed where watching that is refused. Beside a recorder it goes on instead, and a
// process is watched as soon as it has mapped a file with an allocator that no preload gets in front of: the
// mappings of the processes are read when an image has begun or a library is opened, as recorders count it,
// and now and then, for at most 2 % of a core. Throws AttachFailure where that is refused, and
// std::system_error where the recording cannot be written.
Attached attach(const std::string &path, const AttachOptions &options,
                const std::function<bool()> &interrupted);

} // namespace reap::native
