// Walks stacks by rules that are decoded once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "deep_stack.h"
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
    size_t walk(uint64_t *frames, size_t limit, uint64_t *begins = nullptr) noexcept;

    // Walks a stack of up to REAP_MOST_FRAMES frames, or the innermost and the outermost of a deeper one,
    // into `deep`, which belongs to the thread. Returns whether frames were left out; then `deep.base` is 0
    // where the outermost frames are others than at the last call. Cost: of a deeper one, about the frames
    // that were not there at the last call, and REAP_INNER_FRAMES.
    bool walk_deep(DeepStack &deep) noexcept;

    // Numbers the frames that `walk` would return, from the outermost inwards, and sets `id` to the number of
    // the whole stack; 0 if there is no memory. `edge(parent, return address)` numbers one: the same for the
    // same, and 0 is none. Frames that are as they were at the last call with `known` are not walked again.
    // False if the stack is one for `walk`: neither the main stack nor the one that the C library gave the
    // thread, too deep, or unsupported. `known` belongs to the thread. `frame` is what
    // __builtin_frame_address(0) is in the function where the walk begins: with its caller.
    template <class Edge>
    bool intern(KnownStack &known, const void *frame, size_t limit, Edge edge, uint32_t &id) noexcept {
        id = find_recent(known, frame);
        if (likely(id != 0)) return true;
        WalkStart start;
        if (!find_changed(known, frame, limit, start, id)) return false;
        if (id == 0) id = number_changed(known, edge, start);
        return true;
    }

    // What `intern` finds for a stack that is a recent one, else 0. (`known.unloads` is never a number of
    // unloads with one in progress.)
    [[nodiscard, gnu::always_inline]] uint32_t find_recent(const KnownStack &known,
                                                           const void *frame) const noexcept {
        if (unlikely(known.unloads != __atomic_load_n(&unloads_, __ATOMIC_ACQUIRE))) return 0;
        const auto *const words = static_cast<const uint64_t *>(frame);
        return known.find_recent({reinterpret_cast<uint64_t>(words + 2), words[1], words});
    }

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

    // Sets `id`, which is 0 before, if the stack is a recent one that begins in a frame further out. Else
    // leaves in `known` the frames that have not changed, and in `fresh` those that are to be numbered.
    bool find_changed(KnownStack &known, const void *frame, size_t limit, WalkStart &start,
                      uint32_t &id) noexcept;
    template <bool kOnMain>
    bool find_changed_on(KnownStack &known, Cursor at, size_t limit) noexcept;
    template <class Edge>
    [[gnu::noinline]] static uint32_t number_changed(KnownStack &known, Edge edge,
                                                     const WalkStart &start) noexcept {
        const size_t callers = known.count;
        uint32_t id = callers == 0 ? 0 : known.frames[callers - 1].id;
        bool remember = true;
        for (size_t fresh = known.fresh_count; fresh != 0;) {
            const FreshFrame &changed = known.fresh[--fresh];
            id = edge(id, changed.pc);
            if (id == 0) break; // no memory
            remember = remember && known.append(changed, id);
        }
        if (remember && id != 0) known.add_recent(start, callers);
        return id;
    }
    FrameRule rule(uint64_t return_address) noexcept;
    FrameRule decode(uint64_t return_address) noexcept;
    void forget_rules() noexcept;
    size_t walk_by_libgcc(uint64_t *frames, size_t limit, uint64_t *begins) noexcept;

    // Unloads in progress in the lower half, finished ones in the upper half.
    uint64_t unloads_ = 0;
    unsigned long long unloaded_modules_ = 0; // at the last clear
    uint64_t unsupported_ = 0;
    RuleTable rules_;
    LatestPrograms *latest_ = nullptr; // under the lock, as changes of the rules are
    uint32_t decoded_ = 0;
    FutexLock lock_;
};

} // namespace reap::preload
