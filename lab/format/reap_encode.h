// The encoding of numbers in a trace's blocks. Depends on `reap_trace.h` only; needs no runtime.
//
// SPDX-License-Identifier: MIT
#ifndef REAP_ENCODE_H
#define REAP_ENCODE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "reap_trace.h"

namespace reap::format {

// The longest varint of 64 bits.
inline constexpr size_t kMaxVarint = 10;

// Writes `value` as LEB128 at `out`; returns the end.
inline uint8_t *put_varint(uint8_t *out, uint64_t value) noexcept {
    while (value >= 0x80) {
        *out++ = static_cast<uint8_t>(value | 0x80);
        value >>= 7;
    }
    *out++ = static_cast<uint8_t>(value);
    return out;
}

// The same without a branch on the length, which nobody could predict. May write four bytes whatever the
// length.
inline uint8_t *put_short_varint(uint8_t *out, uint64_t value) noexcept {
    if (__builtin_expect(static_cast<long>(value >> 28 != 0), 0) != 0) return put_varint(out, value);
    const unsigned bits = 32u - static_cast<unsigned>(__builtin_clz(static_cast<uint32_t>(value) | 1u));
    const unsigned more = ((bits + 6) * 37 >> 8) - 1; // bytes behind the first: (bits + 6) / 7 - 1
    auto groups = static_cast<uint32_t>(value);
    groups = (groups & 0x3fffu) | (groups & 0x0fffc000u) << 2;
    groups = (groups & 0x007f007fu) | (groups & 0x3f803f80u) << 1;
    groups |= 0x80808080u & ((1u << 8 * more) - 1);
    memcpy(out, &groups, sizeof groups);
    return out + more + 1;
}

// Writes a length and that many bytes.
inline uint8_t *put_string(uint8_t *out, const char *text, size_t length) noexcept {
    out = put_varint(out, length);
    memcpy(out, text, length);
    return out + length;
}

// Encodes the difference of two addresses so that multiples of 16 become small numbers.
inline uint64_t fold_address(uint64_t from, uint64_t to) noexcept {
    const bool down = to < from;
    const uint64_t distance = down ? from - to : to - from;
    return ((distance >> 4 | (distance & 15) << 53) << 1) | (down ? 1 : 0);
}

// The inverse of fold_address. Addresses of user space stay below 2^57, so no bit is lost.
inline uint64_t unfold_address(uint64_t from, uint64_t folded) noexcept {
    const uint64_t magnitude = folded >> 1;
    const uint64_t distance = (magnitude & ((UINT64_C(1) << 53) - 1)) << 4 | magnitude >> 53;
    const uint64_t down = UINT64_C(0) - (folded & 1); // without a branch, which nobody could predict
    return from + ((distance ^ down) - down);
}

// The difference of two addresses as a step: small if it is a multiple of 16, else none, which is larger than
// any packed number.
inline uint64_t pack_step(uint64_t from, uint64_t to) noexcept {
    const uint64_t distance = to - from;
    if (__builtin_expect(static_cast<long>(distance % 16 != 0), 0) != 0) return UINT64_MAX;
    const uint64_t down = UINT64_C(0) - (distance >> 63);
    return (distance << 1 ^ down) >> 4;
}

// The inverse of pack_step, of a packed number.
inline uint64_t unpack_step(uint64_t from, uint64_t step) noexcept {
    const uint64_t down = UINT64_C(0) - (step & 1);
    return from + ((step >> 1 ^ down) << 4);
}

// How many bytes a packed number has behind the first.
inline unsigned packed_more(uint32_t value) noexcept {
    return (31u ^ static_cast<unsigned>(__builtin_clz(value | 1u))) / 8;
}

// Writes a packed number; returns the end. Writes four bytes whatever the length.
inline uint8_t *put_packed(uint8_t *out, uint32_t value, unsigned more) noexcept {
    memcpy(out, &value, sizeof value);
    return out + more + 1;
}

// The first byte of a hot record.
inline uint8_t hot_tag(reap_tag tag, reap_call call) noexcept {
    return static_cast<uint8_t>(static_cast<unsigned>(tag) | static_cast<unsigned>(call) << 4);
}

// The bin of `reap_counts::large_*` for a size of REAP_EXACT_SIZES or more: four bins an octave.
inline unsigned large_bin(uint64_t size) noexcept {
    const unsigned top = 63u - static_cast<unsigned>(__builtin_clzll(size));
    return (top - 12u) * 4u + static_cast<unsigned>(size >> (top - 2) & 3);
}

// The smallest size in a bin: the inverse of large_bin.
inline uint64_t large_bin_low(unsigned bin) noexcept { return (UINT64_C(4) + bin % 4) << (bin / 4 + 10); }

// The bin of `reap_requests::by_*` for a number.
inline unsigned request_bin(uint64_t value) noexcept {
    if (value < REAP_REQUEST_EXACT) return static_cast<unsigned>(value);
    const unsigned top = 63u - static_cast<unsigned>(__builtin_clzll(value));
    if (top >= 40) return REAP_REQUEST_BINS - 1;
    return REAP_REQUEST_EXACT + (top - 11u) * 64u + static_cast<unsigned>(value >> (top - 6) & 63);
}

// The smallest number in a bin: the inverse of request_bin. Bin REAP_REQUEST_BINS would begin at 2^40.
inline uint64_t request_bin_low(unsigned bin) noexcept {
    if (bin < REAP_REQUEST_EXACT) return bin;
    const unsigned above = bin - REAP_REQUEST_EXACT;
    return (UINT64_C(64) + above % 64) << (above / 64 + 5);
}

} // namespace reap::format

#endif
