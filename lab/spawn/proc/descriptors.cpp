// SPDX-License-Identifier: MIT
#include "proc/descriptors.h"

#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace reap::spawn {

reap_waited_for waited_for(pid_t pid, int descriptor) {
    char path[64];
    char target[128];
    std::snprintf(path, sizeof path, "/proc/%d/fd/%d", static_cast<int>(pid), descriptor);
    const ssize_t length = readlink(path, target, sizeof target - 1);
    if (length <= 0) return REAP_WAITED_UNKNOWN;
    target[length] = '\0';
    if (std::strncmp(target, "socket:", 7) == 0) return REAP_WAITED_SOCKET;
    if (target[0] != '/' || std::strncmp(target, "/dev/", 5) == 0) return REAP_WAITED_OTHER;
    return REAP_WAITED_FILE;
}

} // namespace reap::spawn
