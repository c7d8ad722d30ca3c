#include "python/interpreter.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "platform.h"
#include "python/exported.h"
#include "python/words.h"

namespace reap::preload {
namespace {

constexpr uint64_t kObjectType = 8;

// A word of memory that may not be mapped.
bool read_word(uint64_t address, uint64_t &value) noexcept {
    iovec to{&value, sizeof value};
    iovec from{reinterpret_cast<void *>(address), sizeof value};
    return syscall(SYS_process_vm_readv, getpid(), &to, 1UL, &from, 1UL, 0UL) == sizeof value;
}

} // namespace

bool PythonInterpreter::look_at(const link_map *module) noexcept {
    if (status_ != PythonStatus::Absent) return false;
    const auto *version = static_cast<const uint64_t *>(exported(module, "Py_Version"));
    if (version == nullptr || exported(module, "_PyEval_EvalFrameDefault") == nullptr) return false;
    version_ = *version;
    layout_ = python_layout(version_);
    this_thread_ =
        reinterpret_cast<void *(*)()>(const_cast<void *>(exported(module, "PyGILState_GetThisThreadState")));
    initialized_ = reinterpret_cast<int (*)()>(const_cast<void *>(exported(module, "Py_IsInitialized")));
    code_type_ = exported(module, "PyCode_Type");
    text_type_ = exported(module, "PyUnicode_Type");
    const bool known = layout_ != nullptr && this_thread_ != nullptr && initialized_ != nullptr &&
                       code_type_ != nullptr && text_type_ != nullptr;
    status_ = known ? PythonStatus::Unchecked : PythonStatus::Unknown;
    __atomic_store_n(&there_, known, __ATOMIC_RELEASE);
    return !known;
}

// Null where the thread has run no Python. Before the interpreter is initialized its key may be another's.
uint64_t PythonInterpreter::thread_state() const noexcept {
    return initialized_() != 0 ? reinterpret_cast<uint64_t>(this_thread_()) : 0;
}

size_t PythonInterpreter::frames(PythonFrame (&out)[kMostPythonFrames]) noexcept {
    const uint64_t state = thread_state();
    if (state == 0) return 0;
    if (unlikely(status_ != PythonStatus::Merged)) {
        uint64_t current = 0;
        if (!read_word(state + layout_->cframe, current)) {
            status_ = PythonStatus::Refused;
        } else {
            if (!read_word(current + layout_->cframe_current, current)) current = 0;
            if (current == 0) return 0; // it executes no function yet
            status_ = check(state) ? PythonStatus::Merged : PythonStatus::Refused;
        }
        if (status_ == PythonStatus::Refused) {
            __atomic_store_n(&there_, false, __ATOMIC_RELEASE);
            return 0;
        }
    }
    const PythonLayout &at = *layout_;
    if (word_at(state + at.thread_id) != static_cast<uint64_t>(pthread_self())) return 0;
    uint64_t call = word_at(state + at.cframe);
    uint64_t frame = word_at(call + at.cframe_current);
    size_t count = 0;
    while (frame != 0 && count != kMostPythonFrames) {
        const bool entry = *reinterpret_cast<const uint8_t *>(frame + at.frame_entry) != 0;
        out[count++] = {frame, word_at(frame + at.frame_code), word_at(frame + at.frame_instruction), call,
                        entry};
        if (entry && call != 0) call = word_at(call + at.cframe_previous);
        frame = word_at(frame + at.frame_previous);
    }
    return count;
}

// Before anything is read directly: whether memory has what the layout says, where it says so.
bool PythonInterpreter::check(uint64_t state) const noexcept {
    const PythonLayout &at = *layout_;
    uint64_t word = 0;
    if (!read_word(state + at.thread_id, word) || word != static_cast<uint64_t>(pthread_self())) return false;
    uint64_t frame = 0;
    uint64_t call = 0;
    if (!read_word(state + at.cframe, call) || !read_word(call + at.cframe_current, frame) ||
        !read_word(call + at.cframe_previous, word))
        return false;
    for (size_t depth = 0; frame != 0 && depth < kMostPythonFrames; ++depth) {
        uint64_t code = 0;
        uint64_t type = 0;
        if (!read_word(frame + (at.frame_entry & ~7U), word) || !read_word(frame + at.frame_code, code) ||
            !read_word(code + kObjectType, type) || type != reinterpret_cast<uint64_t>(code_type_))
            return false;
        const uint16_t names[] = {at.code_filename, at.code_qualname};
        for (const uint16_t name : names) {
            uint64_t text = 0;
            uint64_t text_type = 0;
            if (!read_word(code + name, text) || !read_word(text + kObjectType, text_type) ||
                text_type != reinterpret_cast<uint64_t>(text_type_))
                return false;
        }
        uint64_t instruction = 0;
        uint64_t lines = 0;
        if (!read_word(frame + at.frame_instruction, instruction) ||
            instruction + 64 < code + at.code_bytes || instruction > code + (UINT64_C(1) << 28) ||
            !read_word(code + at.code_linetable, lines) || !read_word(lines, word))
            return false;
        if (!read_word(frame + at.frame_previous, frame)) return false;
    }
    return true;
}

} // namespace reap::preload
