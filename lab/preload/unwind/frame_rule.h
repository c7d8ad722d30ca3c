// How to get from a frame to its caller, as the unwind tables say.
#pragma once

#include <cstdint>

namespace reap::preload {

// Where the canonical frame address is: the caller's stack pointer.
enum class Cfa : uint8_t {
    Unknown,     // not decoded; zero, so that an empty slot of a table has it
    Rsp,         // rsp + cfa_offset
    Rbp,         // rbp + cfa_offset
    RbpIndirect, // *(rbp + cfa_offset): functions that realign their stack
    End,         // the frame has no caller, or none that the tables tell
    Outside,     // the same, because no module is loaded there now
    Unsupported  // a rule that does not fit here: the whole stack must be walked by libgcc
};

// Where the caller's rbp is.
enum class SavedRbp : uint8_t { Unchanged, AtCfa, AtRbp };

// The unwind rule of one return address. The caller's return address is at CFA - 8, and its rsp is the CFA.
struct FrameRule {
    int32_t cfa_offset;
    int16_t rbp_offset; // of the slot, from the CFA or from rbp
    Cfa cfa;
    SavedRbp rbp;
};
static_assert(sizeof(FrameRule) == 8);

struct DecodedRule {
    FrameRule rule;
    uint64_t row_end; // the first return address above the given one that may have another rule
};

// A rule holds as long as its module stays loaded. One outside all modules must not be kept.
inline bool is_permanent(FrameRule rule) noexcept { return rule.cfa != Cfa::Outside; }

// How far the tables of some functions were run, to go on from there. Mapped memory; null if there is none.
struct LatestPrograms;
LatestPrograms *make_latest_programs() noexcept;
// Code was unloaded.
void forget(LatestPrograms &latest) noexcept;

// Decodes the rule that libgcc applies to a frame which was left by a call: the row of the instruction before
// `return_address`. About 1,000 instructions, more where the function has many rows. Takes no lock, does not
// allocate. Code that the C library may unload without a call of dlclose is unsupported, so that no rule
// outlives it. `latest` is the caller's own while it is in here.
DecodedRule decode_frame_rule(uint64_t return_address, LatestPrograms *latest = nullptr) noexcept;

} // namespace reap::preload
