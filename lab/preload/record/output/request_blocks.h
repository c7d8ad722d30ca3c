// Counts what a process's marked requests allocate, and keeps its current phase.
#pragma once

#include <cstdint>

#include "output/trace_file.h"
#include "platform.h"

namespace reap::preload {

// One block per phase and thread with requests in it. A thread that ends or changes its phase releases its
// block for reuse, so the number of blocks is bounded by concurrent threads times phases.
class RequestBlocks {
  public:
    // Enters the phase `name`; null and "" are none.
    void set_phase(const char *name) noexcept;

    // The number of that phase; 0 is none.
    [[nodiscard]] uint32_t phase() const noexcept { return __atomic_load_n(&now_, __ATOMIC_RELAXED); }

    // A block to count requests of a phase in; null when the trace cannot grow.
    reap_block_header *acquire(TraceFile &trace, const Owner &owner, uint32_t phase) noexcept;
    void release(reap_block_header *block, uint32_t phase) noexcept;

    static reap_requests &counts(reap_block_header *block) noexcept {
        return *reinterpret_cast<reap_requests *>(TraceFile::payload(block));
    }

    // Around fork. The child stays in the phase of its parent, and does not use its parent's blocks.
    void before_fork() noexcept { lock_.lock(); }
    void after_fork_in_parent() noexcept { lock_.unlock(); }
    void after_fork_in_child() noexcept;

  private:
    static constexpr uint32_t kMaxPhases = 32; // phases that are counted separately
    static constexpr uint32_t kOtherPhases = kMaxPhases + 1;

    uint32_t find(const char *name) noexcept;

    char names_[kOtherPhases + 1][REAP_PHASE_BYTES] = {};
    uint32_t known_ = 0;
    uint32_t now_ = 0;
    uint32_t sequence_ = 0;
    bool full_ = false; // the trace could not grow: requests without an idle block are not counted
    reap_block_header *idle_[kOtherPhases + 1] = {};
    FutexLock lock_;
};

} // namespace reap::preload
