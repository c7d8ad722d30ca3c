#include "known_stack.h"

#include "platform.h"

namespace reap::preload {
namespace {

uint64_t word(uint64_t address) noexcept { return *reinterpret_cast<const uint64_t *>(address); }

bool same_slots(const KnownFrame &frame) noexcept {
    if (frame.saved_at != 0 && word(frame.saved_at) != frame.saved) return false;
    return frame.cfa_at == 0 || word(frame.cfa_at) == frame.cfa;
}

} // namespace

size_t KnownStack::unchanged(uint64_t sp) const noexcept {
    size_t same = 0;
    for (; same < count; ++same) {
        const KnownFrame &frame = frames[same];
        if (frame.sp <= sp || word(frame.sp - 8) != frame.pc) break;
        if (unlikely(frame.has_slots) && !same_slots(frame)) break;
    }
    return same;
}

bool KnownStack::append(const FreshFrame &from, uint32_t id) noexcept {
    const KnownFrame *caller = count == 0 ? nullptr : &frames[count - 1];
    const bool caller_needs_rbp = caller != nullptr && caller->needs_rbp;
    const FrameRule rule = from.rule;
    const bool reads_rbp = rule.cfa == Cfa::Rbp || rule.cfa == Cfa::RbpIndirect;
    KnownFrame frame{from.sp, from.pc, 0, 0, 0, 0, 0, id, reads_rbp, false};
    if (caller_needs_rbp) {
        switch (rule.rbp) {
        case SavedRbp::Unchanged:
            frame.needs_rbp = true;
            break;
        case SavedRbp::AtCfa:
            frame.saved_at = from.cfa + static_cast<uint64_t>(int64_t{rule.rbp_offset});
            break;
        case SavedRbp::AtRbp:
            frame.needs_rbp = true;
            frame.saved_at = word(from.rbp_at) + static_cast<uint64_t>(int64_t{rule.rbp_offset});
            break;
        }
    }
    if (frame.needs_rbp) frame.rbp = word(from.rbp_at);
    if (rule.cfa == Cfa::RbpIndirect) {
        frame.cfa_at = frame.rbp + static_cast<uint64_t>(int64_t{rule.cfa_offset});
        frame.cfa = from.cfa;
    }
    // A slot outside the frame may not be readable when the frame is looked at again.
    const auto inside = [&from](uint64_t slot) { return slot == 0 || (slot >= from.sp && slot < from.cfa); };
    if (!inside(frame.saved_at) || !inside(frame.cfa_at)) return false;
    if (frame.saved_at != 0) frame.saved = word(frame.saved_at);
    frame.has_slots = frame.saved_at != 0 || frame.cfa_at != 0;
    frames[count++] = frame;
    return true;
}

} // namespace reap::preload
