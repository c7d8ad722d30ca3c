#include "python/layout.h"

namespace reap::preload {
namespace {

// From CPython's headers: pystate.h, pycore_frame.h, code.h, unicodeobject.h. They do not change within a
// minor version.
constexpr PythonLayout k311 = {
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
constexpr PythonLayout k312 = {
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
constexpr PythonLayout layout_313() {
    PythonLayout layout = k312;
    layout.thread_id = 152;
    layout.cframe = 0;
    layout.current = 72;
    layout.code_bytes = 200;
    return layout;
}
constexpr PythonLayout k313 = layout_313();

} // namespace

const PythonLayout *python_layout(uint64_t version) noexcept {
    switch (version >> 16) {
    case 0x030b:
        return &k311;
    case 0x030c:
        return &k312;
    case 0x030d:
        return &k313;
    default:
        return nullptr;
    }
}

} // namespace reap::preload
