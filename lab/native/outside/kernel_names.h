// Names of the kernel's functions, where it tells them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace reap::native {

class KernelNames {
  public:
    // Those of this machine. The first call reads /proc/kallsyms, which takes some tens of milliseconds.
    static const KernelNames &here();

    // The function at an address of the kernel; empty where /proc/kallsyms hides addresses.
    const std::string &at(uint64_t address) const;

    // Whether the kernel tells them.
    bool known() const { return !functions_.empty(); }

  private:
    KernelNames();

    std::vector<std::pair<uint64_t, std::string>> functions_; // by address
};

} // namespace reap::native
