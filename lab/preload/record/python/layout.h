// Where CPython keeps what a stack of Python functions is read from, by version.
#pragma once

#include <cstdint>

namespace reap::preload {

// Offsets in bytes. In CPython's words: a thread state has the innermost call of the interpreter, which lies
// on the C stack and has the current frame; a frame has its caller, its code and the instruction that it
// executes; code has names and a table of lines.
struct PythonLayout {
    uint16_t thread_id; // pthread_self() of the state's thread
    uint16_t cframe;    // of each call of the interpreter, innermost first
    uint16_t cframe_current;
    uint16_t cframe_previous;

    uint16_t frame_code;
    uint16_t frame_previous;
    uint16_t frame_instruction;
    uint16_t frame_entry; // whether C called the frame

    uint16_t code_firstlineno;
    uint16_t code_filename;
    uint16_t code_qualname;
    uint16_t code_linetable;
    uint16_t code_bytes;

    uint16_t ascii_text; // in a string of ASCII, and in one of other characters
    uint16_t other_text;
};

// The layout of this version (PY_VERSION_HEX), or null if it is not known.
const PythonLayout *python_layout(uint64_t version) noexcept;

} // namespace reap::preload
