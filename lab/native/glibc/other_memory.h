// The memory of another process, read through /proc without stopping it; see glibc/walked_memory.h.
//
// Its contents are hostile: lists may go round, and heaps may overlap. So much is read at most as the
// process could need, and everything after that cannot be read. Pages that are not resident are never
// touched, since reading would bring them back from swap.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace reap::native {

// Makes walks read a process, as long as it lives. One at a time in all: the walks have buffers of the
// program's.
class OtherMemory {
  public:
    // Reading may take so many nanoseconds. The memory is that of the program that the process executes now.
    OtherMemory(pid_t process, uint64_t nanoseconds);
    ~OtherMemory();
    OtherMemory(const OtherMemory &) = delete;
    OtherMemory &operator=(const OtherMemory &) = delete;

    // Whether this user may read the process.
    [[nodiscard]] bool readable() const noexcept;

    // Whether something was not read for that limit, so that what was found is not all.
    [[nodiscard]] bool exhausted() const noexcept;
};

} // namespace reap::native
