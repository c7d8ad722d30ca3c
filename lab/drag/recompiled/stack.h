// Where a call came from, by frame pointers, which reap-drag-cc has the compiler keep.
#pragma once

#include <cstdint>

#include "platform.h"

namespace reap::drag {

struct Stack {
    static constexpr uint32_t kMost = 12; // as the exact engine has unless it is asked for more
    uint32_t depth;
    uint64_t hash;          // of all frames
    uint64_t frames[kMost]; // return addresses, innermost first
};

// By which the frames are multiplied in the hash: made by splitmix64, and odd.
struct Multipliers {
    uint64_t of[Stack::kMost];
};
constexpr Multipliers multipliers() noexcept {
    Multipliers made{};
    uint64_t seed = 0;
    for (uint64_t &one : made.of) {
        uint64_t mixed = seed += UINT64_C(0x9e3779b97f4a7c15);
        mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
        one = (mixed ^ mixed >> 31) | 1;
    }
    return made;
}
inline constexpr Multipliers kOdd = multipliers();

// Of the thread's own stack; no end before they are known, and nothing between where that cannot be said.
struct Bounds {
    uintptr_t begin;
    uintptr_t end;
};
extern constinit thread_local Bounds own_stack __attribute__((tls_model("initial-exec")));
void find_own_stack() noexcept;

// The stack of whoever called a function whose frame and return address these are. A function without a frame
// pointer is passed over. Costs a nanosecond a frame; reads nothing but the thread's own stack.
inline void walk(const void *frame, const void *caller, Stack &stack) noexcept {
    if (preload::unlikely(own_stack.end == 0)) find_own_stack();
    const auto innermost = reinterpret_cast<uint64_t>(caller);
    uint64_t hash = innermost * kOdd.of[0];
    uint32_t depth = 1;
    stack.frames[0] = innermost;
    auto below = reinterpret_cast<uintptr_t>(frame);
    // On another stack, as a coroutine has it, what a frame says cannot be believed: between it and the end
    // of the thread's own, not all is mapped.
    if (below >= own_stack.begin && below < own_stack.end) {
        const uintptr_t last = own_stack.end - 16;
        auto at = *static_cast<const uintptr_t *>(frame);
        while (at > below && at % 8 == 0 && at <= last) {
            const auto *words = reinterpret_cast<const uintptr_t *>(at);
            const uintptr_t caller_of = words[1];
            if (caller_of < 4096) break;
            stack.frames[depth] = caller_of;
            hash += caller_of * kOdd.of[depth];
            if (++depth == Stack::kMost) break;
            below = at;
            at = words[0];
        }
    }
    stack.depth = depth;
    stack.hash = hash;
}

} // namespace reap::drag
