// A stack of more frames than are recorded one by one: its innermost and its outermost.
#pragma once

#include <cstddef>
#include <cstdint>

#include "reap_trace.h"
#include "recent_stacks.h"

namespace reap::preload {

// Zero at first; a thread has one in mapped memory, of which a stack that is not deep touches little.
//
// The outermost frames of a recursion stay as they are while its innermost change. So that not every event
// walks all of it, some frames on the way are kept as anchors: a walk that comes to one, while it and those
// further out hold the same return addresses, ends there. What is between anchors is not recorded, and not
// compared.
struct DeepStack {
    struct Anchor {
        uint64_t sp;
        uint64_t pc;
        uint64_t depth; // frames from here outwards, this one included
    };
    static constexpr size_t kStride = 128; // frames between anchors, at least
    static constexpr size_t kMostAnchors = 2048;

    // The latest walk: all frames, or the innermost of a stack that is deeper; innermost first.
    size_t count;
    uint64_t frames[REAP_MOST_FRAMES];
    uint64_t begins[REAP_MOST_FRAMES];

    // Of a deeper one.
    size_t outer_count;                 // 0: they are not known
    StackWord outer[REAP_OUTER_FRAMES]; // innermost first
    StackWord last[REAP_OUTER_FRAMES];  // that a walk has come to, in a ring
    uint32_t base; // number of the outermost frames and of the mark behind them; 0: not numbered yet

    uint64_t unloads; // of libraries, when the frames were walked
    size_t anchor_count;
    Anchor anchors[kMostAnchors]; // outermost first

    // How many anchors, from the outermost inwards, are on the stack as they were. `sp` is on the stack that
    // they are on.
    [[nodiscard]] size_t unchanged(uint64_t sp) const noexcept {
        size_t left = anchor_count;
        while (left != 0 && anchors[left - 1].sp < sp) --left;
        for (size_t at = 0; at < left; ++at)
            if (*reinterpret_cast<const uint64_t *>(anchors[at].sp - 8) != anchors[at].pc) left = at;
        return left == 0 || any_changed(outer, outer_count) ? 0 : left;
    }

    // Of a walk that nothing is remembered of: `met` frames from within, of which those that have room are in
    // `frames`. Returns whether others were left out.
    bool keep_inner(size_t met) noexcept {
        forget();
        outer_count = 0;
        count = met < REAP_MOST_FRAMES ? met : REAP_MOST_FRAMES;
        return met >= REAP_MOST_FRAMES;
    }

    // The stack may be unmapped, or the numbers no longer hold.
    void forget() noexcept {
        anchor_count = 0;
        base = 0;
    }
};

} // namespace reap::preload
