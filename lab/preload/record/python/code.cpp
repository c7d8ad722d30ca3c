#include "python/code.h"

#include "python/words.h"

namespace reap::preload {
namespace {

// Of code that is compiled at run time all else may be as before: its names, and where its parts lie. Reads
// the table of lines in four places, because that is done for each function of a stack.
uint64_t digest(uint64_t lines, uint64_t size, uint64_t filename, const PythonLayout &layout) noexcept {
    constexpr uint64_t kFactor = UINT64_C(0x9e3779b97f4a7c15);
    const uint64_t text = lines + format::kPythonBytesText;
    const uint64_t name_length = word_at(filename + format::kPythonTextLength);
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
    const uint64_t size = word_at(lines + format::kPythonVarSize);
    const uint64_t filename = word_at(code + layout.code_filename);
    return {code,
            filename,
            word_at(code + layout.code_qualname),
            lines,
            size << 32 | half_word_at(code + layout.code_firstlineno),
            digest(lines, size, filename, layout)};
}

uint32_t line_of(const PythonLayout &layout, uint64_t code, uint64_t instruction) noexcept {
    const auto first = static_cast<int32_t>(half_word_at(code + layout.code_firstlineno));
    const uint64_t begin = code + layout.code_bytes;
    if (instruction < begin) return static_cast<uint32_t>(first);
    const uint64_t lines = word_at(code + layout.code_linetable);
    return format::python_line(first, reinterpret_cast<const uint8_t *>(lines + format::kPythonBytesText),
                               word_at(lines + format::kPythonVarSize), instruction - begin);
}

size_t put_text(const PythonLayout &layout, uint64_t string, uint8_t *out, size_t most) noexcept {
    const uint32_t state = half_word_at(string + format::kPythonTextState);
    const unsigned width = format::python_text_width(state);
    if (width == 0) return 0;
    const uint64_t text = string + format::python_text_offset(layout, state);
    return format::put_python_text(reinterpret_cast<const uint8_t *>(text),
                                   word_at(string + format::kPythonTextLength), width, out, most);
}

} // namespace reap::preload
