// Which objects are drawn, when they are looked at, and what the looks say.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ledger.h"
#include "platform.h"
#include "random.h"
#include "schedule.h"
#include "windows.h"

namespace reap::drag {

// What a thread keeps. The fast paths read the budget and nothing else.
struct ThreadState {
    int64_t budget = 0; // bytes that it may allocate before it comes to the sampler
    int64_t granted = 0;
    int64_t to_sample = 0; // bytes to its next sample
    uint64_t period = 0;   // the mean that this gap was drawn with
    preload::Random random;
    bool begun = false;
};

// Draws objects by a Poisson process over the bytes allocated; each lives in a window of its own. Looks at it
// form a Poisson process with intensity 1 / (earliest + age): few, and denser early, where most objects are
// last used. A look that the object was used after came before its last access, and the sum of (earliest +
// age) over these is an unbiased estimate of last access - birth (Campbell's theorem). Looks take place at
// allocations alone, so that time can pass the planned one by a thread's budget.
//
// Thread-safe. Costs some 20 us a sample over its life, by its own account (`spent_ns`); where that is more
// than two in a hundred of the time that has passed, the gaps widen, and the past alone decides that.
class Sampler {
  public:
    // Takes off what the thread has allocated, looks at what is due, and returns a block of a window where
    // `size` bytes were drawn as a sample; else null, and the allocator serves them.
    void *allocate(ThreadState &thread, size_t size, size_t alignment) noexcept;

    [[nodiscard]] bool owns(const void *pointer) const noexcept { return windows_.owns(pointer); }
    void free(void *pointer) noexcept;
    [[nodiscard]] size_t size_of(const void *pointer) noexcept;

    void start() noexcept;
    void finish() noexcept;
    void before_fork() noexcept;
    void after_fork_in_parent() noexcept;
    void after_fork_in_child() noexcept;

  private:
    // What stands in a slot, by its number. `bytes` is what the window holds, the block's offset included.
    struct Object {
        size_t bytes;
        size_t size;
        uint32_t row; // Ledger::kNone: lives on from before a fork
        uint32_t turn;
        bool taken;
    };

    enum class State : uint8_t { Fresh, Running, Off };

    void begin() noexcept;
    bool open() noexcept;
    void give_up(reap_drag_problem problem) noexcept;
    void look(uint32_t slot, uint64_t now) noexcept;
    void credit(uint32_t slot, reap_drag_sample &row) noexcept;
    bool plan(uint32_t slot, uint64_t now) noexcept;
    void *sample(ThreadState &thread, size_t size, size_t alignment, uint64_t now) noexcept;
    void draw(ThreadState &thread) noexcept;
    [[nodiscard]] uint64_t period() noexcept;

    State state_ = State::Fresh;
    preload::FutexLock lock_;
    Windows windows_;
    Schedule schedule_;
    Ledger ledger_;
    Object *objects_ = nullptr;
    preload::Random random_;
    uint64_t clock_ = 0;
    uint64_t fixed_period_ = 0; // 0: steered
    uint64_t began_ns_ = 0;
    uint64_t spent_ns_ = 0;
};

extern Sampler sampler;
extern thread_local ThreadState thread_state __attribute__((tls_model("initial-exec")));

} // namespace reap::drag
