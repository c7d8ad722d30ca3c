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
    const DecodedRule decoded = decode_frame_rule(return_address);
    if (decoded.permanent && lock_.try_lock()) {
        rules_.add(return_address, decoded.rule);
        lock_.unlock();
    }
    return decoded.rule;
}

REAP_COLD size_t Unwinder::walk_by_libgcc(uint64_t *frames, size_t limit) noexcept {
    __atomic_store_n(&unsupported_, unsupported_ + 1, __ATOMIC_RELAXED);
    return walk_stack(frames, limit);
}

[[gnu::noinline]] size_t Unwinder::walk(uint64_t *frames, size_t limit) noexcept {
    if (unlikely(unloading(__atomic_load_n(&unloads_, __ATOMIC_ACQUIRE)))) return walk_stack(frames, limit);
    // This function's frame: its caller's rbp and the return address, at the frame's end.
    const auto here = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
    uint64_t rbp_at = here; // where the frame's rbp is saved: read only if a rule needs it, as by libgcc
    uint64_t pc = word(here + 8);
    uint64_t sp = here + 16;
    const CodeRange own = own_code();
    StackReach reach;
    size_t count = 0;
    while (pc != 0) {
        if (count != 0 || !own.contains(pc)) {
            frames[count++] = pc;
            if (count == limit || !reach.may_follow(sp)) break;
        }
        const FrameRule step = rule(pc);
        uint64_t cfa;
        switch (step.cfa) {
        case Cfa::Rsp:
            cfa = sp + static_cast<int64_t>(step.cfa_offset);
            break;
        case Cfa::Rbp:
            cfa = word(rbp_at) + static_cast<int64_t>(step.cfa_offset);
            break;
        case Cfa::RbpIndirect:
            cfa = word(word(rbp_at) + static_cast<int64_t>(step.cfa_offset));
            break;
        case Cfa::End:
            return count;
        default:
            return walk_by_libgcc(frames, limit);
        }
        // A caller's frame is above; if it is not, the stack was switched or the tables are wrong.
        if (unlikely(cfa <= sp || (on_main_stack(sp) && cfa > kMainStackEnd)))
            return walk_by_libgcc(frames, limit);
        switch (step.rbp) {
        case SavedRbp::Unchanged:
            break;
        case SavedRbp::AtCfa:
            rbp_at = cfa + static_cast<int64_t>(step.rbp_offset);
            break;
        case SavedRbp::AtRbp:
            rbp_at = word(rbp_at) + static_cast<int64_t>(step.rbp_offset);
            break;
        }
        pc = word(cfa - 8);
        sp = cfa;
    }
    return count;
}

void Unwinder::after_unload() noexcept {
    const unsigned long long count = count_unloaded_modules();
    // Inserting takes a microsecond. If it does not end, its thread waits for this one; libgcc serves from
    // now on.
    constexpr int kTries = 100000;
    int left = kTries;
    while (!lock_.try_lock())
        if (--left == 0) return;
    if (count != unloaded_modules_) rules_.clear();
    unloaded_modules_ = count;
    lock_.unlock();
    __atomic_fetch_add(&unloads_, kUnloadEnded - 1, __ATOMIC_SEQ_CST);
}

} // namespace reap::preload
