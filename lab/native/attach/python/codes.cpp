#include "attach/python/codes.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "attach/python/walk.h"

namespace reap::native {
namespace {

constexpr uint64_t kMostBytes = 1 << 20; // of a table of lines, or a name
constexpr size_t kMostFunction = 512;
constexpr size_t kMostPath = 4096;

template <class Value>
Value value_at(const unsigned char *bytes) {
    Value out;
    std::memcpy(&out, bytes, sizeof out);
    return out;
}

// Of whole words, and of the end of a text: as in `put_python`.
uint64_t digest_words(uint64_t digest, const unsigned char *bytes, size_t size) {
    for (size_t at = 0; at < size; at += sizeof(uint64_t))
        digest = digest_word(digest, value_at<uint64_t>(bytes + at));
    return digest;
}
uint64_t digest_end(uint64_t digest, const std::vector<unsigned char> &text) {
    std::array<unsigned char, kTextBytes> end{};
    const size_t bytes = std::min(text.size(), end.size());
    std::copy(text.end() - static_cast<std::ptrdiff_t>(bytes), text.end(), end.begin());
    return digest_words(digest, end.data(), end.size());
}

} // namespace

// A string, or bytes.
struct PythonCodes::Object {
    uint64_t type = 0;
    uint64_t length = 0;
    unsigned width = 1; // of a character; 0: none
    std::vector<unsigned char> text;

    [[nodiscard]] std::string plain(size_t most) const {
        std::vector<uint8_t> out(most);
        const size_t bytes = format::put_python_text(text.data(), length, width, out.data(), most);
        return {out.begin(), out.begin() + static_cast<std::ptrdiff_t>(bytes)};
    }
};

uint32_t PythonCode::line_of(uint64_t instruction) const noexcept {
    if (instruction < begin) return static_cast<uint32_t>(first_line);
    return format::python_line(first_line, lines.data(), lines.size(), instruction - begin);
}

PythonCodes::PythonCodes(const PythonInterpreter &python, pid_t process)
    : layout_(python.places.layout), code_type_(python.code_type), text_type_(python.text_type),
      memory_(process) {}

const PythonCode *PythonCodes::find(const SampledFrame &frame) {
    const auto known = known_.find({frame.code, frame.digest});
    if (known != known_.end()) return &known->second;
    // Also where the program could not read it: perhaps it was not in memory, and is now.
    PythonCode code;
    if (!read(frame.code, frame.digest, code)) return nullptr;
    return &known_.emplace(std::pair(frame.code, frame.digest), std::move(code)).first->second;
}

bool PythonCodes::read_lines(uint64_t address, Object &out) const {
    if (!memory_.read(address + format::kPythonVarSize, out.length) || out.length > kMostBytes) return false;
    out.text.resize(out.length);
    return memory_.read(address + format::kPythonBytesText, out.text.data(), out.text.size());
}

bool PythonCodes::read_text(uint64_t address, Object &out) const {
    uint32_t state = 0;
    if (!memory_.read(address + format::kPythonObjectType, out.type) ||
        !memory_.read(address + format::kPythonTextLength, out.length) ||
        !memory_.read(address + format::kPythonTextState, state) || out.length > kMostBytes)
        return false;
    out.width = format::python_text_width(state);
    out.text.resize(out.length * out.width);
    return memory_.read(address + format::python_text_offset(layout_, state), out.text.data(),
                        out.text.size());
}

// False where it has another digest, or is no code.
bool PythonCodes::read(uint64_t address, uint64_t digest, PythonCode &out) {
    std::array<unsigned char, kCodeBegin + kCodeBytes> code{};
    if (!memory_.read(address, code)) return false;
    const auto pointer = [&code](size_t field) { return value_at<uint64_t>(code.data() + field); };
    Object lines;
    Object file;
    Object function;
    if (!read_lines(pointer(layout_.code_linetable), lines) ||
        !read_text(pointer(layout_.code_filename), file) ||
        !read_text(pointer(layout_.code_qualname), function))
        return false;
    uint64_t found = digest_words(0, code.data() + kCodeBegin, kCodeBytes);
    for (const Object *each : {&lines, &file, &function})
        found = digest_end(digest_word(found, each->length), each->text);
    if (found != digest) return false;
    if (pointer(format::kPythonObjectType) != code_type_ || file.type != text_type_ ||
        function.type != text_type_) {
        ++mistyped_;
        return false;
    }
    out.begin = address + layout_.code_bytes;
    out.first_line = value_at<int32_t>(code.data() + layout_.code_firstlineno);
    out.function = function.plain(kMostFunction);
    out.file = file.plain(kMostPath);
    out.lines = std::move(lines.text);
    return true;
}

} // namespace reap::native
