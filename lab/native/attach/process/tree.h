// The processes that a process has made.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace reap::native {

struct TreeProcess {
    pid_t process = 0;
    pid_t parent = 0;
    uint64_t start = 0; // tells two uses of a number apart
};

// Those descendants of a process that have not ended, parents before their children.
std::vector<TreeProcess> descendants(pid_t root);

} // namespace reap::native
