// Where a process counts what its marked requests allocate, and which phase it says that it is in.
#pragma once

#include <cstdint>

#include "output/trace_file.h"
#include "platform.h"

namespace reap::preload {

// A block for each phase and thread that has requests in it. A thread that ends, or goes on to another phase,
// leaves its block to the next that comes, so that their number is bounded by threads at once times phases.
class RequestBlocks {
  public:
    // The process is in the phase `name` from here on; null and "" are none.
    void say(const char *name) noexcept;

    // The number of that phase; 0 is none.
    [[nodiscard]] uint32_t phase() const noexcept { return __atomic_load_n(&now_, __ATOMIC_RELAXED); }

    // A block to count requests of a phase in; null when the trace cannot grow.
    reap_block_header *take(TraceFile &trace, const Owner &owner, uint32_t phase) noexcept;
    void give_back(reap_block_header *block, uint32_t phase) noexcept;

    static reap_requests &counts(reap_block_header *block) noexcept {
        return *reinterpret_cast<reap_requests *>(TraceFile::payload(block));
    }

    // Around fork. The child goes on in the phase of its parent, whose blocks it leaves alone.
    void before_fork() noexcept { lock_.lock(); }
    void after_fork_in_parent() noexcept { lock_.unlock(); }
    void after_fork_in_child() noexcept;

  private:
    static constexpr uint32_t kTold = 32; // phases that are told apart
    static constexpr uint32_t kFurther = kTold + 1;

    uint32_t find(const char *name) noexcept;

    char names_[kFurther + 1][REAP_PHASE_BYTES] = {};
    uint32_t known_ = 0;
    uint32_t now_ = 0;
    uint32_t sequence_ = 0;
    bool full_ = false; // the trace could not grow: requests are not counted where no block is left over
    reap_block_header *idle_[kFurther + 1] = {};
    FutexLock lock_;
};

} // namespace reap::preload
