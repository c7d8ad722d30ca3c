// A process of its own for each probe, which sets it and removes it.
//
// The kernel cannot remove a breakpoint for a thread that is being killed: it would stay in the watched
// process
// ("failed to unregister, leaking uprobe"), which may die of it. A holder is not killed with this process: it
// removes its probe, and ends, when the other end of its pipe is closed, whatever closed it.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace reap::native {

class Holder {
  public:
    struct Probe {
        pid_t process = 0;
        uint32_t event_type = 0; // of the uprobe PMU; 0: by a BPF link
        int file = -1;
        uint64_t offset = 0; // in the file
        int program = -1;    // a loaded BPF program
    };
    struct Answer {
        int32_t error = 0;   // an errno, or 0
        uint32_t by_bpf = 0; // it is of the program, and not of the event
    };

    // Throws AttachFailure.
    explicit Holder(const Probe &probe);
    ~Holder();
    Holder(const Holder &) = delete;
    Holder &operator=(const Holder &) = delete;

    // Each waits for the kernel's grace periods: ask all holders first, and then for their answers. Links are
    // removed at the same time, events one after another: some 100 ms each.
    void ask(bool set) const;
    [[nodiscard]] Answer answer() const;

  private:
    pid_t pid_ = -1;
    int to_ = -1;
    int from_ = -1;
};

} // namespace reap::native
