// Whether the threads of a process ran in turn: which of them ran, or waited for another, in each poll.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace reap::native {

struct ProcessTurns {
    uint64_t polls = 0;   // in which the process was seen
    uint64_t alone = 0;   // in which one of its threads ran, or was ready to
    uint64_t several = 0; // in which more did
    uint64_t changes = 0; // in which one ran, and another than when one did last
    uint64_t last = 0;    // the thread that did; 0: none yet
};

struct ThreadTurns {
    uint64_t ran = 0;
    uint64_t waited = 0; // for a lock, a semaphore or a condition, while another thread of the process ran
};

class Turns {
  public:
    // A thread in the current poll: it runs, or waits in a futex call, or neither.
    void see(uint32_t pid, uint64_t thread, bool runs, bool waits) {
        seen_[pid].push_back({thread, runs, waits});
    }

    void end_poll();

    [[nodiscard]] const std::map<uint32_t, ProcessTurns> &processes() const { return processes_; }
    // By process and thread. Of threads beyond the first 65,536 nothing is kept.
    [[nodiscard]] const std::map<std::pair<uint32_t, uint64_t>, ThreadTurns> &threads() const {
        return threads_;
    }

  private:
    struct Seen {
        uint64_t thread;
        bool runs;
        bool waits;
    };
    std::map<uint32_t, std::vector<Seen>> seen_;
    std::map<uint32_t, ProcessTurns> processes_;
    std::map<std::pair<uint32_t, uint64_t>, ThreadTurns> threads_;
};

} // namespace reap::native
