// A thread's recent stacks, each as its innermost frames below a frame that is known.
#pragma once

#include <cstddef>
#include <cstdint>

namespace reap::preload {

// A word of the stack that a walk read. A walk that finds the same values finds the same frames.
struct StackWord {
    const uint64_t *at;
    uint64_t value;
    [[nodiscard]] uint64_t changed() const noexcept { return *at ^ value; }
};

// Compares four at once, because nearly always all are as they were.
inline bool any_changed(const StackWord *words, size_t count) noexcept {
    for (; count >= 4; count -= 4, words += 4)
        if ((words[0].changed() | words[1].changed() | words[2].changed() | words[3].changed()) != 0)
            return true;
    if ((count & 2) != 0) {
        if ((words[0].changed() | words[1].changed()) != 0) return true;
        words += 2;
    }
    return (count & 1) != 0 && words[0].changed() != 0;
}

// Where a walk begins: the frame of a call of the allocator. Its rbp is read only if something depends on it.
struct WalkStart {
    uint64_t sp;
    uint64_t pc;
    const uint64_t *rbp_at;
};

struct alignas(64) RecentStack {
    static constexpr size_t kMostWords = 12;

    uint64_t sp;        // of the innermost frame
    uint64_t rbp;       // its rbp, if needs_rbp
    uint64_t caller_sp; // of the known frame
    uint32_t caller_id;
    uint32_t id;     // of the stack; 0: an empty place
    uint32_t epoch;  // when the numbers were found
    uint8_t callers; // known frames up to that one, which is included
    uint8_t words_count;
    bool needs_rbp;
    StackWord words[kMostWords]; // all that was read below the known frame
};

// Two stacks that begin at the same call with the same stack pointer differ in the return addresses of their
// callers. So a stack is found by a hash of the words that were return addresses of four callers when a walk
// last began there. What they are now decides nothing: a stack that is found is compared word by word.
class RecentStacks {
  public:
    // The place of a stack that begins at `start`. Words at and above `end` are not read.
    [[nodiscard]] RecentStack &place(const WalkStart &start, uint64_t end) noexcept {
        const Callers &callers = callers_of(start);
        uint64_t hash = start.pc + start.sp;
        if (callers.sp == start.sp && callers.pc == start.pc &&
            reinterpret_cast<uint64_t>(callers.slots[kCallers - 1]) < end) {
            hash += *callers.slots[0] * UINT64_C(0x9e3779b97f4a7c15);
            hash += *callers.slots[1] * UINT64_C(0xd6e8feb86659fd93);
            hash += *callers.slots[2] * UINT64_C(0xff51afd7ed558ccd);
            hash += *callers.slots[3] * UINT64_C(0xc4ceb9fe1a85ec53);
        }
        return stacks_[hash * UINT64_C(0x9e3779b97f4a7c15) >> (64 - kStackBits)];
    }

    static constexpr size_t kCallers = 4;

    // The slots of the return addresses of the callers, by increasing address.
    void set_callers(const WalkStart &start, const uint64_t *const (&slots)[kCallers]) noexcept {
        Callers &callers = callers_of(start);
        callers.sp = start.sp;
        callers.pc = start.pc;
        for (size_t i = 0; i < kCallers; ++i) callers.slots[i] = slots[i];
    }

    // The numbers of stacks no longer hold.
    void forget() noexcept { ++epoch_; }
    [[nodiscard]] uint32_t epoch() const noexcept { return epoch_; }

  private:
    static constexpr unsigned kStackBits = 10;
    static constexpr unsigned kCallersBits = 6;

    struct Callers {
        uint64_t sp;
        uint64_t pc;
        const uint64_t *slots[kCallers];
    };

    Callers &callers_of(const WalkStart &start) noexcept {
        return callers_[(start.sp + start.pc) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - kCallersBits)];
    }

    uint32_t epoch_;
    Callers callers_[1 << kCallersBits];
    RecentStack stacks_[1 << kStackBits];
};

} // namespace reap::preload
