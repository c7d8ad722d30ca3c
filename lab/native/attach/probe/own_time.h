// CPU time of a process while probes are set: spent on them, and on itself.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <list>
#include <vector>

#include "files/file.h"
#include "symbols/symbols.h"

namespace reap::native {

// Samples the CPU time of all threads, each by a timer of its own. A sample belongs to a probe where user
// code stands on the instruction that has it, or on one that follows it: an interrupt that comes while the
// kernel returns from a probe is taken there. All others belong to the process itself.
class OwnTime {
  public:
    struct Count {
        uint64_t all = 0;
        uint64_t own = 0;
    };

    // Cost of a sample to the process, about: measured in a virtual machine, where an interrupt costs most.
    static constexpr double kSampleNs = 30'000;

    // `probed`: addresses in the process that belong to probes. Where the kernel does not allow it, the
    // process has too many threads, or its addresses are not randomised, nothing is ever counted.
    OwnTime(pid_t process, const std::vector<AddressRange> &probed);
    ~OwnTime();
    OwnTime(const OwnTime &) = delete;
    OwnTime &operator=(const OwnTime &) = delete;

    // Whether anything is ever counted.
    [[nodiscard]] bool samples() const noexcept { return !events_.empty(); }
    void count(bool on) const noexcept;
    // All samples since construction.
    [[nodiscard]] Count counted() const noexcept;

  private:
    void open(pid_t process, const std::vector<AddressRange> &probed);

    std::list<Descriptor> events_; // of a thread and those that it makes
    Count *counts_ = nullptr;
};

} // namespace reap::native
