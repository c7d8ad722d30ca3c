// The stack that a thread had at its last event, to be used again as far as it has not changed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "frame_rule.h"
#include "reap_trace.h"
#include "recent_stacks.h"

namespace reap::preload {

inline constexpr size_t kMostKnownFrames = REAP_MOST_FRAMES;

// A frame, and the value of rbp in it where the way to its caller, or further out, depends on it.
struct KnownFrame {
    uint64_t sp;  // the frame begins here; its return address is in the word below, in its callee's frame
    uint64_t rbp; // if needs_rbp
    uint32_t id;  // of the stack that ends with this frame
    uint16_t words_end;
    bool needs_rbp; // the way from here to the outermost frame depends on this frame's rbp
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
    size_t fresh_count;
    uint32_t skipped;                    // stacks off the main stack that are left to `walk` next
    bool ends_outside;                   // the outermost frame is outside all modules
    KnownFrame frames[kMostKnownFrames]; // outermost first
    FreshFrame fresh[kMostKnownFrames];
    // The words of the frames: the return address of each, which is in its callee's frame; in a few frames
    // also the slots of the caller's rbp and of the CFA.
    StackWord words[3 * kMostKnownFrames];
    uint16_t frame_of[3 * kMostKnownFrames]; // to which a word belongs
    RecentStacks recent;

    // How many frames, from the outermost inwards, are in memory as they were. Frames at and below `sp` have
    // been left, except for the one that begins at `sp`; the frames are on the main stack or on the thread's
    // own, so that they can be read as long as the thread lives.
    [[nodiscard]] size_t unchanged(uint64_t sp) const noexcept {
        size_t same = count;
        while (same != 0 && frames[same - 1].sp < sp) --same;
        const size_t end = same == 0 ? 0 : frames[same - 1].words_end;
        for (size_t at = 0; at < end; ++at)
            if (words[at].changed()) return frame_of[at];
        return same;
    }

    // The number of the stack that begins at `start`, if it is one of the recent ones; else 0. The known
    // frames stay as they are. A stack is only found where one began before that `start` was: on the main
    // stack or the thread's own, so that its words can be read.
    [[nodiscard, gnu::always_inline]] uint32_t find_recent(const WalkStart &start) const noexcept {
        const RecentStack *const stack = recent.candidate(start);
        if (stack == nullptr || stack->sp != start.sp || stack->callers > count) return 0;
        // As add_recent() made it.
        if (stack->callers == 0 || stack->words_count > RecentStack::kMostWords) __builtin_unreachable();
        const KnownFrame &caller = frames[stack->callers - 1];
        if (caller.id != stack->caller_id || caller.sp != stack->caller_sp) return 0;
        if (stack->needs_rbp && *start.rbp_at != stack->rbp) return 0;
        const bool changed =
            any_changed(stack->words, stack->words_count) || any_changed(words, caller.words_end);
        return changed ? 0 : stack->id;
    }

    // Remembers the stack that begins at `start`, of which the outer `callers` frames were known before.
    void add_recent(const WalkStart &start, size_t callers) noexcept;

    // The numbers of frames no longer hold, or their stack may be unmapped.
    void forget() noexcept {
        count = 0;
        recent.forget();
    }

    // Appends a frame that is called by the innermost one. False if it must not be remembered, nor its
    // callees.
    bool append(const FreshFrame &from, uint32_t id) noexcept {
        const bool caller_needs_rbp = count != 0 && frames[count - 1].needs_rbp;
        if (caller_needs_rbp || from.rule.cfa != Cfa::Rsp) return append_with_rbp(from, id, caller_needs_rbp);
        add({from.sp, 0, id, 0, false}, from.pc);
        return true;
    }

  private:
    bool append_with_rbp(const FreshFrame &from, uint32_t id, bool caller_needs_rbp) noexcept;

    // With its return address.
    void add(const KnownFrame &frame, uint64_t pc) noexcept {
        const size_t at = count == 0 ? 0 : frames[count - 1].words_end;
        words[at] = {reinterpret_cast<const uint64_t *>(frame.sp - 8), pc};
        frame_of[at] = static_cast<uint16_t>(count);
        frames[count] = frame;
        frames[count++].words_end = static_cast<uint16_t>(at + 1);
    }
    void add_word(uint64_t at) noexcept;
};

} // namespace reap::preload
