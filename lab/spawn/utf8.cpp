// SPDX-License-Identifier: MIT
#include "utf8.h"

#include <cstdio>
#include <cstring>

namespace reap::spawn {
namespace {

/// Length of the well-formed UTF-8 sequence of two or more bytes at `at`, or 0 (Unicode, table 3-7).
std::size_t sequence_length(const unsigned char *at, std::size_t left) {
    const auto tail = [&](std::size_t i) { return i < left && (at[i] & 0xc0u) == 0x80u; };
    const unsigned char first = at[0];
    if (first >= 0xc2 && first <= 0xdf) return tail(1) ? 2 : 0;
    if (first >= 0xe0 && first <= 0xef) {
        if (!tail(1) || !tail(2)) return 0;
        const bool overlong = first == 0xe0 && at[1] < 0xa0;
        const bool surrogate = first == 0xed && at[1] > 0x9f;
        return overlong || surrogate ? 0 : 3;
    }
    if (first >= 0xf0 && first <= 0xf4) {
        if (!tail(1) || !tail(2) || !tail(3)) return 0;
        const bool overlong = first == 0xf0 && at[1] < 0x90;
        const bool beyond = first == 0xf4 && at[1] > 0x8f;
        return overlong || beyond ? 0 : 4;
    }
    return 0;
}

} // namespace

void escape_json(const char *data, std::size_t length, char *escaped) {
    const auto *bytes = reinterpret_cast<const unsigned char *>(data);
    for (std::size_t i = 0; i < length;) {
        const unsigned char byte = bytes[i];
        if (byte == '"' || byte == '\\') {
            *escaped++ = '\\';
            *escaped++ = static_cast<char>(byte);
            ++i;
        } else if (byte < 0x20 || byte == 0x7f) {
            escaped += std::sprintf(escaped, "\\u%04x", byte);
            ++i;
        } else if (byte < 0x80) {
            *escaped++ = static_cast<char>(byte);
            ++i;
        } else if (const std::size_t run = sequence_length(bytes + i, length - i); run != 0) {
            std::memcpy(escaped, bytes + i, run);
            escaped += run;
            i += run;
        } else {
            std::memcpy(escaped, "\\ufffd", 6);
            escaped += 6;
            ++i;
        }
    }
    *escaped = '\0';
}

} // namespace reap::spawn
