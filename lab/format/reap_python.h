// Where CPython keeps what a stack of Python functions is read from, and how they fit into a native stack:
// what the recorder in a process and the one outside of it share. Needs no runtime.
//
// SPDX-License-Identifier: MIT
#ifndef REAP_PYTHON_H
#define REAP_PYTHON_H

#include <stddef.h>
#include <stdint.h>

namespace reap::format {

// Offsets in bytes. In CPython's words: a thread state has the current frame (up to 3.12 by way of the
// innermost call of the interpreter, which lies on the C stack); a frame has its caller, its code and the
// instruction that it executes; code has names and a table of lines.
//
// In 3.11 a frame says itself whether C called it. Later, a frame without a function is between it and its
// caller: it is owned by the C stack and lies there, in the call of the interpreter.
struct PythonLayout {
    uint16_t thread_id; // pthread_self() of the state's thread
    uint16_t cframe;    // the innermost call of the interpreter; 0: none
    uint16_t current;   // the current frame: in that call, or in the thread state
    uint16_t cframe_previous;

    uint16_t frame_code;
    uint16_t frame_previous;
    uint16_t frame_instruction;
    uint16_t frame_entry; // whether C called the frame; 0: it has an owner
    uint16_t frame_owner;

    uint16_t code_firstlineno;
    uint16_t code_filename;
    uint16_t code_qualname;
    uint16_t code_linetable;
    uint16_t code_bytes;

    uint16_t ascii_text; // in a string of ASCII, and in one of other characters
    uint16_t other_text;
};

inline constexpr uint8_t kPythonOwnedByC = 3;

// The same in every version that is known.
inline constexpr uint64_t kPythonObjectType = 8;
inline constexpr uint64_t kPythonVarSize = 16;    // of an object with a length
inline constexpr uint64_t kPythonBytesText = 32;  // in an object of bytes
inline constexpr uint64_t kPythonTextLength = 16; // in a string
inline constexpr uint64_t kPythonTextState = 32;

// From CPython's headers: pystate.h, pycore_frame.h, code.h, unicodeobject.h. They do not change within a
// minor version.
inline constexpr PythonLayout kPython311 = {
    .thread_id = 152,
    .cframe = 56,
    .current = 8,
    .cframe_previous = 16,
    .frame_code = 32,
    .frame_previous = 48,
    .frame_instruction = 56,
    .frame_entry = 68,
    .frame_owner = 0,
    .code_firstlineno = 72,
    .code_filename = 112,
    .code_qualname = 128,
    .code_linetable = 136,
    .code_bytes = 184,
    .ascii_text = 48,
    .other_text = 72,
};
inline constexpr PythonLayout kPython312 = {
    .thread_id = 136,
    .cframe = 56,
    .current = 0,
    .cframe_previous = 0,
    .frame_code = 0,
    .frame_previous = 8,
    .frame_instruction = 56,
    .frame_entry = 0,
    .frame_owner = 70,
    .code_firstlineno = 68,
    .code_filename = 112,
    .code_qualname = 128,
    .code_linetable = 136,
    .code_bytes = 192,
    .ascii_text = 40,
    .other_text = 56,
};
inline constexpr PythonLayout kPython313 = [] {
    PythonLayout layout = kPython312;
    layout.thread_id = 152;
    layout.cframe = 0;
    layout.current = 72;
    layout.code_bytes = 200;
    return layout;
}();

// The layout of this version (PY_VERSION_HEX), or null if it is not known.
inline const PythonLayout *python_layout(uint64_t version) noexcept {
    switch (version >> 16) {
    case 0x030b:
        return &kPython311;
    case 0x030c:
        return &kPython312;
    case 0x030d:
        return &kPython313;
    default:
        return nullptr;
    }
}

// A number of six bits a byte, the lowest first; bit 6 says that another byte follows.
inline uint32_t take_python_number(const uint8_t *&at, const uint8_t *end) noexcept {
    uint32_t value = 0;
    for (unsigned shift = 0; at != end && shift < 30; shift += 6) {
        const uint8_t byte = *at++;
        value |= uint32_t{byte & 0x3fU} << shift;
        if ((byte & 0x40) == 0) break;
    }
    return value;
}

inline int32_t take_python_signed(const uint8_t *&at, const uint8_t *end) noexcept {
    const uint32_t value = take_python_number(at, end);
    const auto half = static_cast<int32_t>(value >> 1);
    return (value & 1) != 0 ? -half : half;
}

// The line of the instruction at this distance from the first, by a table of lines; 0 if it has none.
inline uint32_t python_line(int32_t first, const uint8_t *table, size_t size, uint64_t distance) noexcept {
    constexpr unsigned kOneLine = 10;
    constexpr unsigned kNoColumns = 13;
    constexpr unsigned kLong = 14;
    constexpr unsigned kNone = 15;
    const uint8_t *at = table;
    const uint8_t *end = table + size;
    int32_t line = first;
    uint64_t until = 0;
    while (at != end) {
        const unsigned head = *at++;
        const unsigned kind = head >> 3 & 15;
        if (kind >= kOneLine && kind < kNoColumns) line += static_cast<int32_t>(kind - kOneLine);
        if (kind == kNoColumns || kind == kLong) line += take_python_signed(at, end);
        until += ((head & 7) + 1) * uint64_t{2};
        if (distance < until) return kind == kNone ? 0 : static_cast<uint32_t>(line);
        while (at != end && (*at & 0x80) == 0) ++at; // columns
    }
    return 0;
}

// Of a string, by its state: how many bytes a character has, 0 if it is no plain string; and where its text
// is.
inline unsigned python_text_width(uint32_t state) noexcept {
    const unsigned width = state >> 2 & 7;
    const bool compact = (state >> 5 & 1) != 0;
    return compact && (width == 1 || width == 2 || width == 4) ? width : 0;
}
inline uint16_t python_text_offset(const PythonLayout &layout, uint32_t state) noexcept {
    const bool ascii = (state >> 6 & 1) != 0;
    return ascii ? layout.ascii_text : layout.other_text;
}

inline size_t put_utf8(uint32_t character, uint8_t *out) noexcept {
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

// Writes so many characters as UTF-8, of at most `most` bytes; returns how many.
inline size_t put_python_text(const uint8_t *text, uint64_t length, unsigned width, uint8_t *out,
                              size_t most) noexcept {
    size_t written = 0;
    for (uint64_t i = 0; i < length && written + 4 <= most; ++i) {
        uint32_t character = 0;
        for (unsigned byte = 0; byte < width; ++byte)
            character |= uint32_t{text[width * i + byte]} << (8 * byte);
        written += put_utf8(character, out + written);
    }
    return written;
}

// A Python function that a thread executes.
struct PythonFrame {
    uint64_t frame;
    uint64_t code;
    uint64_t instruction;
    uint64_t call; // in the C stack frame of the interpreter's call that executes it; 0: not known
    bool entry;    // C called it: its caller is executed by another call of the interpreter
};

// Where Python functions are in a native stack: for each native frame, innermost first, the functions that it
// executes, as a range of `python`; empty for frames that are no call of the interpreter.
struct PythonRange {
    uint16_t begin;
    uint16_t end;
};

// Finds them by addresses: what belongs to a call of the interpreter lies in its frame on the C stack.
// `begins` are the stack pointers at which the native frames begin. False if the two stacks do not fit
// together, as where a library switches C stacks in its own way.
inline bool place_python(const PythonFrame *python, size_t python_count, const uint64_t *begins, size_t count,
                         PythonRange *ranges) noexcept {
    for (size_t at = 0; at < count; ++at) ranges[at] = {0, 0};
    size_t at = 0;
    for (size_t begin = 0; begin != python_count;) {
        const uint64_t call = python[begin].call;
        size_t end = begin + 1;
        while (end != python_count && !python[end - 1].entry) ++end;
        // Both stacks are cut where they are deep: what is further out has no place.
        if (call == 0 || count == 0 || call >= begins[count - 1]) return true;
        while (at + 1 < count && call >= begins[at + 1]) ++at;
        if (call < begins[at] || ranges[at].end != 0) return false;
        ranges[at] = {static_cast<uint16_t>(begin), static_cast<uint16_t>(end)};
        begin = end;
    }
    return true;
}

} // namespace reap::format

#endif
