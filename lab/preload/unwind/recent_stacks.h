// A thread's recent stacks, each as its innermost frames below a frame that is known.
#pragma once

#include <cstddef>
#include <cstdint>

namespace reap::preload {

// A word of the stack that a walk read. A walk that finds the same values finds the same frames.
struct StackWord {
    const uint64_t *at;
    uint64_t value;
    [[nodiscard]] bool changed() const noexcept { return *at != value; }
};

// Whether one of them is not as it was. Without a loop for stacks of a usual depth, since this is most of
// what an event costs: four instructions a word, whose branch is never taken.
inline bool any_changed(const StackWord *words, size_t count) noexcept {
    constexpr size_t kUnrolled = 16;
    for (; count > kUnrolled; words += kUnrolled) {
        count -= kUnrolled;
        for (size_t i = 0; i < kUnrolled; ++i)
            if (words[i].changed()) return true;
    }
#define REAP_WORD(number)                                                                                    \
    case number:                                                                                             \
        if (words[(number) - 1].changed()) return true;                                                      \
        [[fallthrough]]
    switch (count) {
        REAP_WORD(16);
        REAP_WORD(15);
        REAP_WORD(14);
        REAP_WORD(13);
        REAP_WORD(12);
        REAP_WORD(11);
        REAP_WORD(10);
        REAP_WORD(9);
        REAP_WORD(8);
        REAP_WORD(7);
        REAP_WORD(6);
        REAP_WORD(5);
        REAP_WORD(4);
        REAP_WORD(3);
        REAP_WORD(2);
        REAP_WORD(1);
    default:
        return false;
    }
#undef REAP_WORD
}

// Where a walk begins: the frame of a call of the allocator. Its rbp is read only if something depends on it.
struct WalkStart {
    uint64_t sp;
    uint64_t pc;
    const uint64_t *rbp_at;
};

struct alignas(64) RecentStack {
    static constexpr size_t kMostWords = 12;

    uint64_t sp;        // of the innermost frame; 0: an empty place
    uint64_t rbp;       // its rbp, if needs_rbp
    uint64_t caller_sp; // of the known frame
    uint32_t caller_id;
    uint32_t id;       // of the stack
    uint16_t callers;  // known frames up to that one, which is included
    uint16_t found_by; // the place in the index
    uint8_t words_count;
    bool needs_rbp;
    StackWord words[kMostWords]; // all that was read below the known frame
};

// Two stacks that begin at the same call with the same stack pointer differ in the return addresses of their
// callers. So a stack is found by a hash of the words that were return addresses of four callers when a walk
// last began there. What they are now decides nothing: a stack that is found is compared word by word.
class RecentStacks {
  public:
    // The stack that probably begins at `start`, to be compared; null if no walk began there.
    [[nodiscard]] const RecentStack *candidate(const WalkStart &start) const noexcept {
        const uint64_t hash = hash_of(start);
        const Callers &callers = callers_[callers_place(hash)];
        if (callers.sp != start.sp || callers.pc != start.pc) return nullptr;
        return &stacks_[index_[index_place(hash, callers)]];
    }

    static constexpr size_t kCallers = 4;

    // The place for a stack that begins at `start`, whose callers have their return addresses in `slots`, by
    // increasing address. It may be taken from the oldest stack.
    [[nodiscard]] RecentStack &add(const WalkStart &start,
                                   const uint64_t *const (&slots)[kCallers]) noexcept {
        const uint64_t hash = hash_of(start);
        Callers &callers = callers_[callers_place(hash)];
        callers.sp = start.sp;
        callers.pc = start.pc;
        for (size_t i = 0; i < kCallers; ++i) callers.slots[i] = slots[i];
        const size_t found_by = index_place(hash, callers);
        if (index_[found_by] == 0 || stacks_[index_[found_by]].found_by != found_by) {
            next_ = next_ + 1 == kStacks ? 1 : next_ + 1;
            if (used_ < next_) used_ = next_;
            index_[found_by] = static_cast<uint16_t>(next_);
        }
        RecentStack &stack = stacks_[index_[found_by]];
        stack.found_by = static_cast<uint16_t>(found_by);
        return stack;
    }

    // The numbers of stacks no longer hold, or their memory may be unmapped. Places stay taken.
    void forget() noexcept {
        if (used_ == 0) return;
        for (size_t i = 1; i <= used_; ++i) stacks_[i].sp = 0;
        for (Callers &callers : callers_) callers.sp = 0;
    }

  private:
    static constexpr size_t kStacks = 1024; // the first stays empty
    static constexpr unsigned kIndexBits = 12;
    static constexpr unsigned kCallersBits = 8;

    struct alignas(64) Callers {
        uint64_t sp; // 0: an empty place
        uint64_t pc;
        const uint64_t *slots[kCallers];
    };

    static uint64_t hash_of(const WalkStart &start) noexcept {
        return (start.sp + start.pc) * UINT64_C(0x9e3779b97f4a7c15);
    }
    static size_t callers_place(uint64_t hash) noexcept { return hash >> (64 - kCallersBits); }

    // Factors of 31 bits are operands of an instruction. Return addresses differ in their lowest bits: taken
    // from 20 on, the products differ in all of them.
    static size_t index_place(uint64_t hash, const Callers &callers) noexcept {
        constexpr unsigned kFirstBit = 20;
        hash += *callers.slots[0] * UINT64_C(0x6b43a9b5);
        hash += *callers.slots[1] * UINT64_C(0x52dce729);
        hash += *callers.slots[2] * UINT64_C(0x38495ab5);
        hash += *callers.slots[3] * UINT64_C(0x1b873593);
        return hash >> kFirstBit & ((size_t{1} << kIndexBits) - 1);
    }

    size_t next_; // the place that was taken last
    size_t used_; // the highest that was taken
    Callers callers_[1 << kCallersBits];
    uint16_t index_[1 << kIndexBits]; // 0: no stack
    RecentStack stacks_[kStacks];     // beside each other: few stacks are in few pages
};

} // namespace reap::preload
