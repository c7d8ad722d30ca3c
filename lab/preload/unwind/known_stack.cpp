#include "known_stack.h"

#include "platform.h"

namespace reap::preload {
namespace {

uint64_t word(uint64_t address) noexcept { return *reinterpret_cast<const uint64_t *>(address); }

} // namespace

// To the innermost frame.
void KnownStack::add_word(uint64_t at) noexcept {
    KnownFrame &frame = frames[count - 1];
    words[frame.words_end] = {reinterpret_cast<const uint64_t *>(at), word(at)};
    frame_of[frame.words_end++] = static_cast<uint16_t>(count - 1);
}

bool KnownStack::append_with_rbp(const FreshFrame &from, uint32_t id, bool caller_needs_rbp) noexcept {
    const FrameRule rule = from.rule;
    const bool reads_rbp = rule.cfa == Cfa::Rbp || rule.cfa == Cfa::RbpIndirect;
    KnownFrame frame{from.sp, 0, id, 0, reads_rbp};
    uint64_t saved_at = 0; // the slot of the caller's rbp, if that is needed
    if (caller_needs_rbp) {
        switch (rule.rbp) {
        case SavedRbp::Unchanged:
            frame.needs_rbp = true;
            break;
        case SavedRbp::AtCfa:
            saved_at = from.cfa + static_cast<uint64_t>(int64_t{rule.rbp_offset});
            break;
        case SavedRbp::AtRbp:
            frame.needs_rbp = true;
            saved_at = word(from.rbp_at) + static_cast<uint64_t>(int64_t{rule.rbp_offset});
            break;
        }
    }
    if (frame.needs_rbp) frame.rbp = word(from.rbp_at);
    uint64_t cfa_at = 0;
    if (rule.cfa == Cfa::RbpIndirect) cfa_at = frame.rbp + static_cast<uint64_t>(int64_t{rule.cfa_offset});
    // A slot outside the frame may not be readable when the frame is looked at again.
    const auto inside = [&from](uint64_t slot) { return slot == 0 || (slot >= from.sp && slot < from.cfa); };
    if (!inside(saved_at) || !inside(cfa_at)) return false;
    add(frame, from.pc);
    if (saved_at != 0) add_word(saved_at);
    if (cfa_at != 0) add_word(cfa_at);
    return true;
}

void KnownStack::add_recent(const WalkStart &start, size_t callers) noexcept {
    const size_t first = callers == 0 ? 0 : frames[callers - 1].words_end;
    const size_t words_count = frames[count - 1].words_end - first;
    // A frame outside all modules may belong to one later: it is looked up for each stack.
    if (callers == 0 || ends_outside || words_count > RecentStack::kMostWords) return;
    const uint64_t *slots[RecentStacks::kCallers];
    size_t at = count - 1;
    for (const uint64_t *&slot : slots) {
        if (at != 0) --at;
        slot = reinterpret_cast<const uint64_t *>(frames[at].sp - 8);
    }
    RecentStack &stack = recent.add(start, slots);
    const KnownFrame &inner = frames[count - 1];
    const KnownFrame &caller = frames[callers - 1];
    stack.sp = inner.sp;
    stack.rbp = inner.rbp;
    stack.caller_sp = caller.sp;
    stack.caller_id = caller.id;
    stack.id = inner.id;
    stack.callers = static_cast<uint16_t>(callers);
    stack.words_count = static_cast<uint8_t>(words_count);
    stack.needs_rbp = inner.needs_rbp;
    for (size_t i = 0; i < words_count; ++i) stack.words[i] = words[first + i];
}

} // namespace reap::preload
