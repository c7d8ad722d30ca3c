#include "python/interpreter.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "exported.h"
#include "platform.h"
#include "python/words.h"

namespace reap::preload {
namespace {

// A word of memory that may not be mapped.
bool read_word(uint64_t address, uint64_t &value) noexcept {
    iovec to{&value, sizeof value};
    iovec from{reinterpret_cast<void *>(address), sizeof value};
    return syscall(SYS_process_vm_readv, getpid(), &to, 1UL, &from, 1UL, 0UL) == sizeof value;
}

// The current frame of a thread; 0 where it has none, or is in no call of the interpreter.
bool read_current(const PythonLayout &at, uint64_t state, uint64_t &frame) noexcept {
    uint64_t from = state;
    if (at.cframe != 0 && !read_word(state + at.cframe, from)) return false;
    if (!read_word(from + at.current, frame)) frame = 0;
    return true;
}

bool is_of_c(const PythonLayout &at, uint64_t frame) noexcept {
    return *reinterpret_cast<const uint8_t *>(frame + at.frame_owner) == format::kPythonOwnedByC;
}

PythonFrame frame_at(const PythonLayout &at, uint64_t frame, uint64_t call, bool entry) noexcept {
    return {frame, word_at(frame + at.frame_code), word_at(frame + at.frame_instruction), call, entry};
}

// Of 3.11.
size_t flagged_frames(const PythonLayout &at, uint64_t state, PythonFrame *out) noexcept {
    uint64_t call = word_at(state + at.cframe);
    uint64_t frame = word_at(call + at.current);
    size_t count = 0;
    while (frame != 0 && count != kMostPythonFrames) {
        const bool entry = *reinterpret_cast<const uint8_t *>(frame + at.frame_entry) != 0;
        out[count++] = frame_at(at, frame, call, entry);
        if (entry && call != 0) call = word_at(call + at.cframe_previous);
        frame = word_at(frame + at.frame_previous);
    }
    return count;
}

// Of later versions: behind those that a call of the interpreter executes comes a frame that lies in it.
size_t owned_frames(const PythonLayout &at, uint64_t state, PythonFrame *out) noexcept {
    const uint64_t from = at.cframe != 0 ? word_at(state + at.cframe) : state;
    uint64_t frame = word_at(from + at.current);
    size_t count = 0;
    size_t placed = 0;
    while (frame != 0 && (count != kMostPythonFrames || is_of_c(at, frame))) {
        if (!is_of_c(at, frame)) {
            out[count++] = frame_at(at, frame, 0, false);
        } else {
            if (count != placed) out[count - 1].entry = true;
            while (placed != count) out[placed++].call = frame;
        }
        frame = word_at(frame + at.frame_previous);
    }
    return count;
}

} // namespace

bool PythonInterpreter::look_at(const link_map *module) noexcept {
    if (status_ != PythonStatus::Absent) return false;
    const auto *version = static_cast<const uint64_t *>(exported(module, "Py_Version"));
    if (version == nullptr || exported(module, "_PyEval_EvalFrameDefault") == nullptr) return false;
    version_ = *version;
    layout_ = format::python_layout(version_);
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
        if (!read_current(*layout_, state, current)) {
            status_ = PythonStatus::Refused;
        } else {
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
    return at.frame_owner != 0 ? owned_frames(at, state, out) : flagged_frames(at, state, out);
}

// Before anything is read directly: whether memory has what the layout says, where it says so.
bool PythonInterpreter::check(uint64_t state) const noexcept {
    const PythonLayout &at = *layout_;
    uint64_t word = 0;
    uint64_t frame = 0;
    if (!read_word(state + at.thread_id, word) || word != static_cast<uint64_t>(pthread_self()) ||
        !read_current(at, state, frame))
        return false;
    if (at.cframe_previous != 0 &&
        (!read_word(state + at.cframe, word) || !read_word(word + at.cframe_previous, word)))
        return false;
    for (size_t depth = 0; frame != 0 && depth < kMostPythonFrames; ++depth) {
        // Both lie within the words that are read here.
        const uint16_t kind = at.frame_owner != 0 ? at.frame_owner : at.frame_entry;
        if (!read_word(frame + (kind & ~7U), word)) return false;
        const bool of_c = at.frame_owner != 0 && is_of_c(at, frame);
        if (!of_c && !check_code(frame)) return false;
        if (!read_word(frame + at.frame_previous, frame)) return false;
    }
    return true;
}

// Of a frame with a function: its code has names and lines, and the instruction is in it.
bool PythonInterpreter::check_code(uint64_t frame) const noexcept {
    const PythonLayout &at = *layout_;
    uint64_t word = 0;
    uint64_t code = 0;
    uint64_t type = 0;
    if (!read_word(frame + at.frame_code, code) || !read_word(code + format::kPythonObjectType, type) ||
        type != reinterpret_cast<uint64_t>(code_type_))
        return false;
    const uint16_t names[] = {at.code_filename, at.code_qualname};
    for (const uint16_t name : names) {
        uint64_t text = 0;
        uint64_t text_type = 0;
        if (!read_word(code + name, text) || !read_word(text + format::kPythonObjectType, text_type) ||
            text_type != reinterpret_cast<uint64_t>(text_type_))
            return false;
    }
    uint64_t instruction = 0;
    uint64_t lines = 0;
    return read_word(frame + at.frame_instruction, instruction) && instruction + 64 >= code + at.code_bytes &&
           instruction <= code + (UINT64_C(1) << 28) && read_word(code + at.code_linetable, lines) &&
           read_word(lines, word);
}

} // namespace reap::preload
