// Text of a measured program, for Python.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "symbols/symbols.h"

namespace reap::native {

// Names from a measured program may hold any bytes; what is not UTF-8 is shown with replacement characters.
inline nanobind::str text(const std::string &raw) {
    return nanobind::steal<nanobind::str>(
        PyUnicode_DecodeUTF8(raw.data(), static_cast<Py_ssize_t>(raw.size()), "replace"));
}

inline std::vector<nanobind::str> texts(const std::vector<std::string> &raw) {
    std::vector<nanobind::str> out;
    out.reserve(raw.size());
    for (const std::string &each : raw) out.push_back(text(each));
    return out;
}

// Getters of a field that holds such text, for nanobind::class_::def_prop_ro.
template <typename Record>
auto text_of(std::string Record::*field) {
    return [field](const Record &record) { return text(record.*field); };
}

template <typename Record>
auto texts_of(std::vector<std::string> Record::*field) {
    return [field](const Record &record) { return texts(record.*field); };
}

// (path of the file, address in it, function, source file, line, inlined). The path is empty where no file is
// known.
using FrameRow = std::tuple<nanobind::str, uint64_t, nanobind::str, nanobind::str, int, bool>;

inline FrameRow frame_row(const std::string &path, uint64_t address, const SourceFrame &source) {
    return {text(path), address, text(source.function), text(source.file), source.line, source.inlined};
}

inline FrameRow unknown_frame(uint64_t address) {
    const nanobind::str none("");
    return {none, address, none, none, 0, false};
}

} // namespace reap::native
