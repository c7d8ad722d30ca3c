// Walks stacks by rules that are decoded once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "frame_rule.h"
#include "known_stack.h"
#include "platform.h"
#include "rule_table.h"

namespace reap::preload {

// Returns the same frames as `walk_stack`, at some tens of instructions each. A stack with a frame
// whose rule is unsupported is walked by `walk_stack`, and so is every stack while a library is being
// unloaded. The rules are those of the process. All members are zero at first: usable before any
// initialisation.
class Unwinder {
  public:
    // See walk_stack.
    size_t walk(uint64_t *frames, size_t limit) noexcept;

    // Numbers the edges of stacks: the same (parent, return address) has the same number, and 0 stands for
    // none.
    class Edges {
      public:
        virtual uint32_t intern(uint32_t parent, uint64_t address) noexcept = 0;

      protected:
        ~Edges() = default;
    };

    // Numbers the frames that `walk` would return, from the outermost inwards, and sets `id` to the number of
    // the whole stack; 0 if there is no memory. Frames that are as they were at the last call with `known`
    // are not walked again. False if the stack is one for `walk`: neither the main stack nor the one that the
    // C library gave the thread, too deep, or unsupported. `known` belongs to the thread.
    bool intern(KnownStack &known, size_t limit, Edges &edges, uint32_t &id) noexcept;

    // How many stacks had a frame whose rule is unsupported, about.
    [[nodiscard]] uint64_t unsupported() const noexcept { return unsupported_; }

    // Called around dlclose.
    void before_unload() noexcept { __atomic_fetch_add(&unloads_, 1, __ATOMIC_SEQ_CST); }
    void after_unload() noexcept;

    // Whether libraries were unloaded past these calls. Asked before another is loaded, which may come to lie
    // in their place; if so, the caller begins and ends an unload.
    [[nodiscard]] bool missed_unload() const noexcept;

    // In the child of a fork, whose only thread was in `own` unloads. Those of other threads never end there.
    void after_fork_in_child(uint32_t own) noexcept;

  private:
    struct Cursor;

    FrameRule rule(uint64_t return_address) noexcept;
    FrameRule decode(uint64_t return_address) noexcept;
    size_t walk_by_libgcc(uint64_t *frames, size_t limit) noexcept;

    // Unloads in progress in the lower half, finished ones in the upper half.
    uint64_t unloads_ = 0;
    unsigned long long unloaded_modules_ = 0; // at the last clear
    uint64_t unsupported_ = 0;
    RuleTable rules_;
    FutexLock lock_;
};

} // namespace reap::preload
