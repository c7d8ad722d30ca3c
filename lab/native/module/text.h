// Text of a measured program, for Python.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

namespace reap::native {

// Names from a measured program may hold any bytes; what is not UTF-8 is shown with replacement characters.
inline nanobind::object text(const std::string &raw) {
    return nanobind::steal(PyUnicode_DecodeUTF8(raw.data(), static_cast<Py_ssize_t>(raw.size()), "replace"));
}

} // namespace reap::native
