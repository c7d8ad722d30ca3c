#include "python/code.h"

#include "python/words.h"

namespace reap::preload {
namespace {

constexpr uint64_t kVarSize = 16;    // of an object with a length
constexpr uint64_t kBytesText = 32;  // in an object of bytes
constexpr uint64_t kTextLength = 16; // in a string
constexpr uint64_t kTextState = 32;

size_t put_character(uint32_t character, uint8_t *out) noexcept {
    const auto tail = [character](unsigned shift) {
        return static_cast<uint8_t>(0x80 | ((character >> shift) & 0x3f));
    };
    if (character < 0x80) {
        out[0] = static_cast<uint8_t>(character);
        return 1;
    }
    if (character < 0x800) {
        out[0] = static_cast<uint8_t>(0xc0 | character >> 6);
        out[1] = tail(0);
        return 2;
    }
    if (character < 0x10000) {
        out[0] = static_cast<uint8_t>(0xe0 | character >> 12);
        out[1] = tail(6);
        out[2] = tail(0);
        return 3;
    }
    out[0] = static_cast<uint8_t>(0xf0 | character >> 18);
    out[1] = tail(12);
    out[2] = tail(6);
    out[3] = tail(0);
    return 4;
}

// A number of six bits a byte, the lowest first; bit 6 says that another byte follows.
uint32_t take_number(const uint8_t *&at, const uint8_t *end) noexcept {
    uint32_t value = 0;
    for (unsigned shift = 0; at != end && shift < 30; shift += 6) {
        const uint8_t byte = *at++;
        value |= uint32_t{byte & 0x3fU} << shift;
        if ((byte & 0x40) == 0) break;
    }
    return value;
}

int32_t take_signed(const uint8_t *&at, const uint8_t *end) noexcept {
    const uint32_t value = take_number(at, end);
    const auto half = static_cast<int32_t>(value >> 1);
    return (value & 1) != 0 ? -half : half;
}

// Of code that is compiled at run time all else may be as before: its names, and where its parts lie. Reads
// the table of lines in four places, because that is done for each function of a stack.
uint64_t digest(uint64_t lines, uint64_t size, uint64_t filename, const PythonLayout &layout) noexcept {
    constexpr uint64_t kFactor = UINT64_C(0x9e3779b97f4a7c15);
    const uint64_t text = lines + kBytesText;
    const uint64_t name_length = word_at(filename + kTextLength);
    const uint64_t name_end = filename + layout.ascii_text + name_length; // behind it lies a zero
    uint64_t sum = word_at(text);
    sum = sum * kFactor + (size < 16 ? size : word_at(text + 8));
    sum = sum * kFactor + (size < 16 ? size : word_at(text + (size / 2 & ~UINT64_C(7))));
    sum = sum * kFactor + (size < 8 ? size : word_at(text + size - 8));
    return (sum * kFactor + name_length) * kFactor + word_at(name_end - 8);
}

} // namespace

CodeIdentity identity_of(const PythonLayout &layout, uint64_t code) noexcept {
    const uint64_t lines = word_at(code + layout.code_linetable);
    const uint64_t size = word_at(lines + kVarSize);
    const uint64_t filename = word_at(code + layout.code_filename);
    return {code,
            filename,
            word_at(code + layout.code_qualname),
            lines,
            size << 32 | half_word_at(code + layout.code_firstlineno),
            digest(lines, size, filename, layout)};
}

uint32_t line_of(const PythonLayout &layout, uint64_t code, uint64_t instruction) noexcept {
    constexpr unsigned kOneLine = 10;
    constexpr unsigned kNoColumns = 13;
    constexpr unsigned kLong = 14;
    constexpr unsigned kNone = 15;
    const auto first = static_cast<int32_t>(half_word_at(code + layout.code_firstlineno));
    const uint64_t begin = code + layout.code_bytes;
    if (instruction < begin) return static_cast<uint32_t>(first);
    const uint64_t lines = word_at(code + layout.code_linetable);
    const auto *at = reinterpret_cast<const uint8_t *>(lines + kBytesText);
    const uint8_t *end = at + word_at(lines + kVarSize);
    int32_t line = first;
    uint64_t until = begin;
    while (at != end) {
        const unsigned head = *at++;
        const unsigned kind = head >> 3 & 15;
        if (kind >= kOneLine && kind < kNoColumns) line += static_cast<int32_t>(kind - kOneLine);
        if (kind == kNoColumns || kind == kLong) line += take_signed(at, end);
        until += ((head & 7) + 1) * uint64_t{2};
        if (instruction < until) return kind == kNone ? 0 : static_cast<uint32_t>(line);
        while (at != end && (*at & 0x80) == 0) ++at; // columns
    }
    return 0;
}

size_t put_text(const PythonLayout &layout, uint64_t string, uint8_t *out, size_t most) noexcept {
    const uint64_t length = word_at(string + kTextLength);
    const uint32_t state = half_word_at(string + kTextState);
    const unsigned width = state >> 2 & 7;
    const bool compact = (state >> 5 & 1) != 0;
    const bool ascii = (state >> 6 & 1) != 0;
    if (!compact || (width != 1 && width != 2 && width != 4)) return 0;
    const uint64_t text = string + (ascii ? layout.ascii_text : layout.other_text);
    size_t written = 0;
    for (uint64_t i = 0; i < length && written + 4 <= most; ++i) {
        uint32_t character;
        if (width == 1) {
            character = *reinterpret_cast<const uint8_t *>(text + i);
        } else if (width == 2) {
            character = *reinterpret_cast<const uint16_t *>(text + 2 * i);
        } else {
            character = half_word_at(text + 4 * i);
        }
        written += put_character(character, out + written);
    }
    return written;
}

} // namespace reap::preload
