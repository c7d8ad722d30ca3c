// The files that a running process maps.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace reap::native {

// A mapping of a file.
struct FileMapping {
    uint64_t start = 0;
    uint64_t end = 0;
    uint64_t offset = 0;
    bool executable = false;
    std::string identity; // device and inode, as text
    std::string path;     // as the process knows it
    std::string opened;   // as this process can open it: also in another root, or if it was replaced since
};

// Suffix that the kernel appends to the name of a file that is gone.
inline constexpr char kDeleted[] = " (deleted)";

// Without `opened`. Throws AttachFailure where the process may not be looked at. Costs the process the lock
// of its mappings for about 0.1 ms.
std::vector<FileMapping> read_mappings(pid_t process);

// End of the first thread's stack; 0 where there is none. Throws, and costs, as above.
uint64_t stack_end(pid_t process);

// The file of a mapping under a name that this process can open.
std::string openable(pid_t process, const FileMapping &mapping);

// Whether a file of this path is the one that the process executes; false where that cannot be read.
bool is_executed(pid_t process, const std::string &path);

} // namespace reap::native
