// Memory of another process.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace reap::native {

class ProcessMemory {
  public:
    explicit ProcessMemory(pid_t process) noexcept : process_(process) {}

    // False where not all of it is mapped, or it may not be read (errno).
    bool read(uint64_t address, void *out, size_t bytes) const noexcept {
        const iovec to{out, bytes};
        const iovec from{reinterpret_cast<void *>(address), bytes};
        return ::process_vm_readv(process_, &to, 1, &from, 1, 0) == static_cast<ssize_t>(bytes);
    }
    template <class Value>
    bool read(uint64_t address, Value &out) const noexcept {
        static_assert(std::is_trivially_copyable_v<Value>);
        return read(address, &out, sizeof out);
    }

  private:
    pid_t process_;
};

} // namespace reap::native
