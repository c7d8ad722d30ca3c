// What CPython's code objects say of themselves.
#pragma once

#include <cstddef>
#include <cstdint>

#include "reap_python.h"

namespace reap::preload {

using format::PythonLayout;

// Tells code from other code that later comes to lie at its address.
struct CodeIdentity {
    uint64_t code;
    uint64_t filename;
    uint64_t qualname;
    uint64_t linetable;
    uint64_t lines;  // length of the table of lines, first line
    uint64_t digest; // of texts that code in its place may differ in
    bool operator==(const CodeIdentity &) const noexcept = default;
};

CodeIdentity identity_of(const PythonLayout &layout, uint64_t code) noexcept;

// The line of an instruction, by the code's table of lines; 0 if it has none.
uint32_t line_of(const PythonLayout &layout, uint64_t code, uint64_t instruction) noexcept;

// Writes a string as UTF-8, of at most `most` bytes; returns how many. What is no plain string is empty.
size_t put_text(const PythonLayout &layout, uint64_t string, uint8_t *out, size_t most) noexcept;

} // namespace reap::preload
