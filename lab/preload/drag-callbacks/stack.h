// Where a call came from, by frame pointers, which reap-drag-cc has the compiler keep.
#pragma once

#include <cstdint>

namespace reap::drag {

struct Stack {
    static constexpr uint32_t kMost = 12; // as the exact engine has unless it is asked for more
    uint32_t depth = 0;
    uint64_t frames[kMost]; // return addresses, innermost first
};

// The stack of whoever called a function whose frame and return address these are. A function without a frame
// pointer is passed over. Costs some nanoseconds a frame; reads nothing but the thread's own stack.
void walk(const void *frame, const void *caller, Stack &stack) noexcept;

} // namespace reap::drag
