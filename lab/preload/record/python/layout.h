// Where CPython keeps what a stack of Python functions is read from, by version.
#pragma once

#include <cstdint>

namespace reap::preload {

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

// The layout of this version (PY_VERSION_HEX), or null if it is not known.
const PythonLayout *python_layout(uint64_t version) noexcept;

} // namespace reap::preload
