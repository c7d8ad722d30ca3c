// The first instructions of a function: where in them a probe costs least, and whether they lead elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "symbols/symbols.h"

namespace reap::native {

struct ProbeSpot {
    size_t skipped = 0;    // bytes behind the function's entry
    bool emulated = false; // the kernel emulates the instruction there: no step of its own is needed
};

// Behind instructions that change neither the stack pointer, nor registers that a function has to keep, nor
// the first argument, nor (with `arguments`) the next three. A probe on an instruction that the kernel
// does not emulate costs two exceptions in place of one. The entry itself where nothing better is known.
ProbeSpot cheapest_spot(std::span<const unsigned char> code, bool arguments);

// Returns where user code stands that is about to meet a probe on the first of these instructions, or has
// just come back from it, in bytes from there. One that the kernel emulates may lead elsewhere; the length of
// others is not known: as long as one can be.
std::vector<AddressRange> around_probe(std::span<const unsigned char> code, bool emulated);

// Of a function that is a jump alone: how far the target lies from its entry; 0 for others.
int64_t jump_distance(std::span<const unsigned char> code);

// Whether these bytes have a direct call of (jump to) an address at this distance from their first. Others
// that only look like it would need the same four bytes of the distance.
bool calls(std::span<const unsigned char> code, int64_t distance);
bool jumps(std::span<const unsigned char> code, int64_t distance);

// Whether this is a stub that jumps through the table of the dynamic linker.
bool is_stub(std::span<const unsigned char> code);

} // namespace reap::native
