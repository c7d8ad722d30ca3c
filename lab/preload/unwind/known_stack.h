// The stack that a thread had at its last event, to be used again as far as it has not changed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "frame_rule.h"

namespace reap::preload {

inline constexpr size_t kMostKnownFrames = 128;

// A frame, and what was read from memory to get to its caller. If all that has the same values again, then so
// do the frames outside it.
struct KnownFrame {
    uint64_t sp; // the frame begins here; its return address is in the word below, in its callee's frame
    uint64_t pc;
    uint64_t rbp;      // if needs_rbp
    uint64_t saved_at; // the slot of the caller's rbp, if that is needed; else 0
    uint64_t saved;
    uint64_t cfa_at; // the slot of the CFA (Cfa::RbpIndirect); else 0
    uint64_t cfa;
    uint32_t id;    // of the stack that ends with this frame
    bool needs_rbp; // the way from here to the outermost frame depends on this frame's rbp
    bool has_slots;
};

// A frame that the current walk has come to; innermost first.
struct FreshFrame {
    uint64_t sp;
    uint64_t pc;
    uint64_t rbp_at;
    uint64_t cfa;
    FrameRule rule;
};

// Zero at first; a thread has one in mapped memory.
struct KnownStack {
    uint64_t unloads; // of libraries, when the frames were walked
    size_t count;
    uint32_t skipped;                    // stacks off the main stack that are left to `walk` next
    bool ends_outside;                   // the outermost frame is outside all modules
    KnownFrame frames[kMostKnownFrames]; // outermost first
    FreshFrame fresh[kMostKnownFrames];

    // How many frames, from the outermost inwards, are in memory as they were. Frames at and below `sp` have
    // been left; the frames are on the main stack or on
    // the thread's own, so that they can be read as long as the thread lives.
    [[nodiscard]] size_t unchanged(uint64_t sp) const noexcept;

    // Appends a frame that is called by the innermost one. False if it must not be remembered, nor its
    // callees.
    bool append(const FreshFrame &from, uint32_t id) noexcept;
};

} // namespace reap::preload
