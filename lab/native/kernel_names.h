// Names of the kernel's functions, where it tells them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace reap::native {

class KernelNames {
  public:
    // The function at an address of the kernel; empty where /proc/kallsyms hides addresses. The first call
    // reads that file, which takes some tens of milliseconds.
    const std::string &at(uint64_t address);

    // Whether the kernel tells them. Reads the file.
    bool known();

  private:
    void read();

    bool read_ = false;
    std::vector<std::pair<uint64_t, std::string>> functions_; // by address
};

} // namespace reap::native
