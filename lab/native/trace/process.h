// The processes that write a trace.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace reap::native {

// What /proc/PID/stat says of a process.
struct ProcessStat {
    char state = '?';
    uint32_t parent = 0;
    uint64_t start = 0;    // in ticks since boot
    uint64_t resident = 0; // in bytes
};
// Nothing where there is no such process.
std::optional<ProcessStat> stat_of(uint32_t pid);

// Whether the process that wrote a block is still there, by its head's `pid` and `process_start`. A pid that
// was used again has another start time, where the process could learn its own: the child of a fork takes it
// from its parent, and may have one less.
bool is_running(uint32_t pid, uint64_t start);

// Processes that were started with this variable, NAME=VALUE, in order of their numbers, each as `name (pid
// N)`. Those of other users are not seen, unless root looks. Cost: one file of each process of the machine.
std::vector<std::string> started_with(const std::string &variable);

} // namespace reap::native
