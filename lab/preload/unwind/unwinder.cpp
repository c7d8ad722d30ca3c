#include "unwinder.h"

#include <link.h>

#include "stack_walk.h"

namespace reap::preload {
namespace {

constexpr uint64_t kUnloadEnded = UINT64_C(1) << 32;

bool unloading(uint64_t unloads) noexcept { return static_cast<uint32_t>(unloads) != 0; }

uint64_t word(uint64_t address) noexcept { return *reinterpret_cast<const uint64_t *>(address); }

// How many modules the loader has unloaded.
unsigned long long count_unloaded_modules() noexcept {
    unsigned long long count = 0;
    dl_iterate_phdr(
        [](dl_phdr_info *info, size_t, void *result) {
            *static_cast<unsigned long long *>(result) = info->dlpi_subs;
            return 1;
        },
        &count);
    return count;
}

} // namespace

inline FrameRule Unwinder::rule(uint64_t return_address) noexcept {
    const FrameRule known = rules_.find(return_address);
    return likely(known.cfa != Cfa::Unknown) ? known : decode(return_address);
}

// A frame's module stays loaded while the frame is on the stack, so that the rule holds when it is added; an
// unload that begins meanwhile clears the table afterwards.
REAP_COLD FrameRule Unwinder::decode(uint64_t return_address) noexcept {
    if (!lock_.try_lock()) return decode_frame_rule(return_address).rule;
    constexpr uint32_t kFew = 64; // without a mapping for what goes faster with one
    if (latest_ == nullptr && ++decoded_ > kFew) latest_ = make_latest_programs();
    const DecodedRule decoded = decode_frame_rule(return_address, latest_);
    if (is_permanent(decoded.rule)) rules_.add(return_address, decoded.rule);
    lock_.unlock();
    return decoded.rule;
}

void Unwinder::forget_rules() noexcept {
    rules_.clear();
    if (latest_ != nullptr) forget(*latest_);
}

REAP_COLD size_t Unwinder::walk_by_libgcc(uint64_t *frames, size_t limit, uint64_t *begins) noexcept {
    __atomic_store_n(&unsupported_, unsupported_ + 1, __ATOMIC_RELAXED);
    return walk_stack(frames, limit, begins);
}

// Where a walk is. `rbp_at` is where the frame's rbp is saved: read only if a rule needs it, as by libgcc.
struct Unwinder::Cursor {
    uint64_t pc;
    uint64_t sp;
    uint64_t rbp_at;

    // The caller of a function that called __builtin_frame_address(0).
    explicit Cursor(const void *frame) noexcept
        : pc(word(reinterpret_cast<uint64_t>(frame) + 8)), sp(reinterpret_cast<uint64_t>(frame) + 16),
          rbp_at(reinterpret_cast<uint64_t>(frame)) {}

    // Moves to the caller. False if the rule is unsupported, or its result is not above: then the stack was
    // switched, or the tables are wrong.
    [[nodiscard]] bool follow(FrameRule rule) noexcept {
        uint64_t cfa;
        switch (rule.cfa) {
        case Cfa::Rsp:
            cfa = sp + static_cast<uint64_t>(int64_t{rule.cfa_offset});
            break;
        case Cfa::Rbp:
            cfa = word(rbp_at) + static_cast<uint64_t>(int64_t{rule.cfa_offset});
            break;
        case Cfa::RbpIndirect:
            cfa = word(word(rbp_at) + static_cast<uint64_t>(int64_t{rule.cfa_offset}));
            break;
        default:
            return false;
        }
        if (unlikely(cfa <= sp || (on_main_stack(sp) && cfa > kMainStackEnd))) return false;
        switch (rule.rbp) {
        case SavedRbp::Unchanged:
            break;
        case SavedRbp::AtCfa:
            rbp_at = cfa + static_cast<uint64_t>(int64_t{rule.rbp_offset});
            break;
        case SavedRbp::AtRbp:
            rbp_at = word(rbp_at) + static_cast<uint64_t>(int64_t{rule.rbp_offset});
            break;
        }
        pc = word(cfa - 8);
        sp = cfa;
        return true;
    }
};

namespace {

// The frames with which the C library starts a thread are at most so far from the end of its stack.
constexpr uint64_t kFirstFrames = 64 << 10;
constexpr uint64_t kMostFrame = 64 << 10;
// A frame that is found by rbp may be a coroutine's that is chained to its resumer: between their stacks lies
// a guard page at least.
constexpr uint64_t kMostFrameByRbp = 4 << 10;

// A stack that is neither is walked twice; where there is one, there are more (coroutines).
constexpr uint32_t kSkippedAfterFailure = 15;

bool may_be_own_stack(uint64_t sp) noexcept {
    constexpr uint64_t kMostStack = 64 << 20;
    return below_thread_descriptor(sp) <= kMostStack && stack_probing_enabled();
}

bool is_end(FrameRule rule) noexcept { return rule.cfa == Cfa::End || rule.cfa == Cfa::Outside; }

} // namespace

[[gnu::noinline]] size_t Unwinder::walk(uint64_t *frames, size_t limit, uint64_t *begins) noexcept {
    if (unlikely(unloading(__atomic_load_n(&unloads_, __ATOMIC_ACQUIRE))))
        return walk_stack(frames, limit, begins);
    Cursor at(__builtin_frame_address(0));
    const CodeRange own = own_code();
    StackReach reach;
    size_t count = 0;
    while (at.pc != 0) {
        if (count != 0 || !own.contains(at.pc)) {
            if (begins != nullptr) begins[count] = at.sp;
            frames[count++] = at.pc;
            if (count == limit || !reach.may_follow(at.sp)) break;
        }
        const FrameRule step = rule(at.pc);
        if (is_end(step)) break;
        if (!at.follow(step)) return walk_by_libgcc(frames, limit, begins);
    }
    return count;
}

namespace {

// Collects the frames of a walk that may turn out to be deep.
class DeepWalk {
  public:
    DeepWalk(DeepStack &deep, size_t known) noexcept : deep_(deep), known_(known) {}

    // Whether the frame at `sp` is an anchor behind which nothing has to be walked.
    [[nodiscard]] bool ends_at(uint64_t sp, uint64_t pc) noexcept {
        while (known_ != 0 && deep_.anchors[known_ - 1].sp < sp) --known_;
        if (known_ == 0 || count_ < REAP_INNER_FRAMES) return false;
        const DeepStack::Anchor &anchor = deep_.anchors[known_ - 1];
        return anchor.sp == sp && anchor.pc == pc && count_ + anchor.depth > REAP_MOST_FRAMES;
    }

    void add(uint64_t sp, uint64_t pc) noexcept {
        if (count_ < REAP_MOST_FRAMES) {
            deep_.frames[count_] = pc;
            deep_.begins[count_] = sp;
        }
        deep_.last[count_ % REAP_OUTER_FRAMES] = {reinterpret_cast<const uint64_t *>(sp - 8), pc};
        if (count_ >= REAP_INNER_FRAMES && count_ % DeepStack::kStride == 0 && first_ > known_ + 1)
            deep_.anchors[--first_] = {sp, pc, count_}; // so far the depth from within
        ++count_;
    }

    [[nodiscard]] size_t count() const noexcept { return count_; }

    // Of a walk that came to its stack's end, or to an anchor. Returns whether frames were left out.
    bool end(bool at_anchor, bool remember) noexcept {
        const size_t all = count_ + (at_anchor ? deep_.anchors[known_ - 1].depth : 0);
        if (!remember) return deep_.keep_inner(count_);
        if (!at_anchor) known_ = 0;
        deep_.count = count_;
        deep_.anchor_count = 0;
        if (all <= REAP_MOST_FRAMES) return false;
        keep_anchors(all);
        if (!at_anchor) keep_outer();
        deep_.count = REAP_INNER_FRAMES;
        return true;
    }

  private:
    void keep_anchors(size_t all) noexcept {
        size_t kept = known_;
        uint64_t next = kept == 0 ? 0 : deep_.anchors[kept - 1].depth + DeepStack::kStride;
        for (size_t at = first_; at != DeepStack::kMostAnchors; ++at) {
            DeepStack::Anchor anchor = deep_.anchors[at];
            anchor.depth = all - anchor.depth;
            if (anchor.depth < next) continue;
            deep_.anchors[kept++] = anchor;
            next = anchor.depth + DeepStack::kStride;
        }
        deep_.anchor_count = kept;
    }
    void keep_outer() noexcept {
        for (size_t at = 0; at != REAP_OUTER_FRAMES; ++at)
            deep_.outer[at] = deep_.last[(count_ + at) % REAP_OUTER_FRAMES];
        deep_.outer_count = REAP_OUTER_FRAMES;
        deep_.base = 0;
    }

    DeepStack &deep_;
    size_t known_;                           // anchors that hold, further out than the walk has come
    size_t first_ = DeepStack::kMostAnchors; // of the new ones, which are behind the others, outermost first
    size_t count_ = 0;
};

} // namespace

[[gnu::noinline]] bool Unwinder::walk_deep(DeepStack &deep) noexcept {
    const uint64_t unloads = __atomic_load_n(&unloads_, __ATOMIC_ACQUIRE);
    Cursor at(__builtin_frame_address(0));
    const CodeRange own = own_code();
    const bool on_main = on_main_stack(at.sp);
    // What is remembered is read again: not of a stack that the program allocated itself.
    bool remember = !unloading(unloads) && (on_main || may_be_own_stack(at.sp));
    if (!remember || deep.unloads != unloads) deep.forget();
    deep.unloads = unloads;
    if (unloading(unloads)) return deep.keep_inner(walk_stack(deep.frames, REAP_MOST_FRAMES, deep.begins));
    DeepWalk walk(deep, deep.unchanged(at.sp));
    StackReach reach;
    bool at_anchor = false;
    while (at.pc != 0) {
        if (walk.count() != 0 || !own.contains(at.pc)) {
            at_anchor = walk.ends_at(at.sp, at.pc);
            if (at_anchor || (!remember && walk.count() >= REAP_MOST_FRAMES)) break;
            walk.add(at.sp, at.pc);
            if (!reach.may_follow(at.sp)) break;
        }
        const FrameRule step = rule(at.pc);
        if (is_end(step)) break;
        const uint64_t begin = at.sp;
        if (!at.follow(step))
            return deep.keep_inner(walk_by_libgcc(deep.frames, REAP_MOST_FRAMES, deep.begins));
        if (!on_main && at.sp - begin > kMostFrame) remember = false;
    }
    if (!at_anchor && !on_main && below_thread_descriptor(at.sp) > kFirstFrames) remember = false;
    return walk.end(at_anchor, remember);
}

bool Unwinder::find_changed(KnownStack &known, const void *frame, size_t limit, WalkStart &start,
                            uint32_t &id) noexcept {
    Cursor at(frame);
    const uint64_t unloads = __atomic_load_n(&unloads_, __ATOMIC_ACQUIRE);
    if (unlikely(unloading(unloads))) return false;
    if (unlikely(known.unloads != unloads)) known.forget();
    known.unloads = unloads;
    const bool on_main = on_main_stack(at.sp);
    if (unlikely(!on_main)) {
        if (!may_be_own_stack(at.sp)) return false;
        if (known.skipped != 0) {
            --known.skipped;
            return false;
        }
    }
    // An entry point that did not leave its frame to the function that called us.
    const uint64_t begin = at.sp;
    for (const CodeRange own = own_code(); unlikely(own.contains(at.pc));)
        if (!at.follow(rule(at.pc))) return false;
    start = {at.sp, at.pc, reinterpret_cast<const uint64_t *>(at.rbp_at)};
    if (at.sp != begin) id = known.find_recent(start);
    if (id != 0) return true;
    size_t same = known.unchanged(at.sp);
    if (known.ends_outside && same != 0 && rule(known.words[0].value).cfa != Cfa::Outside) same = 0;
    known.count = same;
    if (on_main) return find_changed_on<true>(known, at, limit);
    const bool found = find_changed_on<false>(known, at, limit);
    known.skipped = found ? 0 : kSkippedAfterFailure;
    return found;
}

template <bool kOnMain>
bool Unwinder::find_changed_on(KnownStack &known, Cursor at, size_t limit) noexcept {
    size_t same = known.count;
    StackReach reach;
    FreshFrame *fresh = known.fresh;
    const uint64_t end = kMainStackEnd;
    while (likely(at.pc != 0)) {
        while (same != 0 && known.frames[same - 1].sp < at.sp) --same;
        if (same != 0 && known.frames[same - 1].sp == at.sp) {
            const KnownFrame &met = known.frames[same - 1];
            if (likely(!met.needs_rbp) || word(at.rbp_at) == met.rbp) {
                known.count = same;
                known.fresh_count = static_cast<size_t>(fresh - known.fresh);
                return true;
            }
        }
        if (static_cast<size_t>(fresh - known.fresh) + same >= limit) return false; // `walk` cuts it
        const FrameRule step = rule(at.pc);
        fresh->sp = at.sp;
        fresh->pc = at.pc;
        fresh->rbp_at = at.rbp_at;
        fresh->rule = step;
        if (!kOnMain && !reach.may_follow(at.sp)) return false; // `walk` ends here
        if (kOnMain && likely(step.cfa == Cfa::Rsp && step.rbp != SavedRbp::AtRbp)) {
            // The same as `follow`, for nearly all frames.
            const uint64_t cfa = at.sp + static_cast<uint64_t>(int64_t{step.cfa_offset});
            if (unlikely(cfa <= at.sp || cfa > end)) return false;
            if (step.rbp == SavedRbp::AtCfa)
                at.rbp_at = cfa + static_cast<uint64_t>(int64_t{step.rbp_offset});
            at.pc = word(cfa - 8);
            at.sp = cfa;
        } else if (unlikely(is_end(step))) {
            // Of a stack that the program allocated itself nothing is remembered: it may be unmapped.
            if (!kOnMain && below_thread_descriptor(at.sp) > kFirstFrames) return false;
            known.ends_outside = step.cfa == Cfa::Outside;
            if (known.ends_outside) known.recent.forget();
            known.count = 0;
            known.fresh_count = static_cast<size_t>(fresh - known.fresh) + 1;
            return true;
        } else {
            const uint64_t most = step.cfa == Cfa::Rsp ? kMostFrame : kMostFrameByRbp;
            if (!at.follow(step) || (!kOnMain && at.sp - fresh->sp > most)) return false;
        }
        fresh++->cfa = at.sp;
    }
    return false; // how it ended is not remembered
}

bool Unwinder::missed_unload() const noexcept {
    return count_unloaded_modules() != __atomic_load_n(&unloaded_modules_, __ATOMIC_RELAXED);
}

// Another thread's unload stays where the fork found it. No code of that library is on this thread's stack;
// its rules are forgotten.
void Unwinder::after_fork_in_child(uint32_t own) noexcept {
    if (lock_.is_held() && latest_ != nullptr) forget(*latest_); // what another thread was changing
    lock_.reset();
    const uint64_t others = static_cast<uint32_t>(unloads_) - own;
    if (others == 0) return;
    forget_rules();
    unloads_ += others * (kUnloadEnded - 1);
}

void Unwinder::after_unload() noexcept {
    const unsigned long long count = count_unloaded_modules();
    // Decoding and inserting take microseconds. If it does not end, its thread waits for this one; libgcc
    // serves from now on.
    constexpr int kTries = 100000;
    int left = kTries;
    while (!lock_.try_lock())
        if (--left == 0) return;
    if (count != unloaded_modules_) forget_rules();
    __atomic_store_n(&unloaded_modules_, count, __ATOMIC_RELAXED);
    lock_.unlock();
    __atomic_fetch_add(&unloads_, kUnloadEnded - 1, __ATOMIC_SEQ_CST);
}

} // namespace reap::preload
