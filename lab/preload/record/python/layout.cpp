#include "python/layout.h"

namespace reap::preload {
namespace {

// From CPython's headers: pystate.h, pycore_frame.h, code.h, unicodeobject.h. They do not change within a
// minor version.
constexpr PythonLayout k311 = {
    .thread_id = 152,
    .cframe = 56,
    .cframe_current = 8,
    .cframe_previous = 16,
    .frame_code = 32,
    .frame_previous = 48,
    .frame_instruction = 56,
    .frame_entry = 68,
    .code_firstlineno = 72,
    .code_filename = 112,
    .code_qualname = 128,
    .code_linetable = 136,
    .code_bytes = 184,
    .ascii_text = 48,
    .other_text = 72,
};

} // namespace

const PythonLayout *python_layout(uint64_t version) noexcept {
    switch (version >> 16) {
    case 0x030b:
        return &k311;
    default:
        return nullptr;
    }
}

} // namespace reap::preload
