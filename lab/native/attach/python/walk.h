// What a probe's program does to read the frames of CPython that the thread at hand executes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attach/probe/assembler.h"
#include "attach/python/places.h"

namespace reap::native {

// What tells the code of one frame from code that lies at its address later: words of the code object that
// never change, and the ends of its table of lines and of its names.
inline constexpr size_t kCodeBegin = 64;
inline constexpr size_t kCodeBytes = 80;
inline constexpr size_t kTextBytes = 128; // as many of each end

// The digest of one more word. The program does the same.
inline constexpr uint64_t kDigestFactor = UINT64_C(0x9e3779b97f4a7c15);
inline uint64_t digest_word(uint64_t digest, uint64_t word) noexcept {
    digest = (digest ^ word) * kDigestFactor;
    return digest ^ digest >> 32;
}

// Fills in what ProbeSample has of Python. Register 7 has the state, 8 the sample; the others are used.
void put_python(Assembler &out, const PythonPlaces &at);

} // namespace reap::native
