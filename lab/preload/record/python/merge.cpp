// What an image does with stacks of Python functions.
#include "image.h"
#include "python/words.h"

namespace reap::preload {

// The stack with the Python functions in it that the thread executes.
uint32_t Image::add_python(ThreadState &thread, uint32_t native) noexcept {
    const ErrnoGuard keep;
    if (native == 0 || thread.full == nullptr) return native;
    if (python_.status() != PythonStatus::Merged && trace_.in_sandbox()) return native; // a check is a call
    KnownPython *&known = thread.full->python;
    if (unlikely(known == nullptr)) known = static_cast<KnownPython *>(map_private(sizeof(KnownPython)));
    if (known == nullptr) return native;
    const uint32_t python =
        python_stacks_.number(python_, *known, definitions_lock_,
                              [this](uint32_t location, const PythonLayout &layout,
                                     const PythonFrame &frame) { define_python(location, layout, frame); });
    if (unlikely(python == 0)) {
        if (python_.status() == PythonStatus::Refused) {
            const LockGuard guard(definitions_lock_);
            note_python(REAP_UNKNOWN_MEMORY);
        }
        return native;
    }
    const uint32_t both = python_stacks_.merged(native, python);
    if (likely(both != 0)) return both;
    const uint32_t merged = merge_python(*thread.full, native);
    const LockGuard guard(definitions_lock_);
    if (python_stacks_.merged(native, python) == 0) python_stacks_.put_merged(native, python, merged);
    return merged;
}

// A call of the interpreter is replaced by the functions that it executes. If the stacks do not fit together
// the native one stays as it is.
uint32_t Image::merge_python(FullDepth &full, uint32_t native) noexcept {
    KnownPython &known = *full.python;
    DeepStack &deep = full.deep;
    uint32_t id = unwinder_.walk_deep(deep) ? deep.base : 0;
    const size_t count = deep.count;
    format::PythonRange *const ranges = known.ranges;
    if (intern_frames(id, deep.frames, count) != native ||
        !format::place_python(known.current, known.count, deep.begins, count, ranges))
        return native;
    for (size_t left = count; left-- != 0;) {
        const format::PythonRange range = ranges[left];
        if (range.end == 0) {
            id = intern_edge(id, deep.frames[left]);
        } else {
            // Known functions are outermost first, and the range counts from the innermost.
            for (size_t at = range.end; at-- != range.begin;) {
                id = intern_edge(id, REAP_PYTHON_FRAME | known.frames[known.count - 1 - at].location);
                if (id == 0) return native;
            }
        }
        if (id == 0) return native;
    }
    return id;
}

void Image::define_python(uint32_t location, const PythonLayout &layout, const PythonFrame &frame) noexcept {
    constexpr size_t kMaxFunction = 512;
    static uint8_t text[kMaxPath]; // under the lock
    static uint8_t body[kMaxPath + kMaxFunction + 64];
    uint8_t *end = format::put_varint(body, REAP_CODE_PYTHON);
    end = format::put_varint(end, location);
    end = format::put_varint(end, line_of(layout, frame.code, frame.instruction));
    const auto put = [&](uint16_t name, size_t most) {
        const size_t length = put_text(layout, word_at(frame.code + name), text, most);
        end = format::put_string(end, reinterpret_cast<const char *>(text), length);
    };
    put(layout.code_qualname, kMaxFunction);
    put(layout.code_filename, kMaxPath);
    const auto size = static_cast<size_t>(end - body);
    if (uint8_t *out = definitions_.begin(trace_, REAP_BLOCK_DEFINITIONS, process(), size + 16))
        definitions_.commit(RecordStream::put_long(out, REAP_TAG_CODE, body, size));
}

void Image::note_python(reap_unknown_code why) noexcept {
    uint8_t body[3 * format::kMaxVarint];
    uint8_t *end = format::put_varint(body, REAP_CODE_UNKNOWN);
    end = format::put_varint(end, python_.version());
    end = format::put_varint(end, why);
    const auto size = static_cast<size_t>(end - body);
    if (uint8_t *out = definitions_.begin(trace_, REAP_BLOCK_DEFINITIONS, process(), size + 16))
        definitions_.commit(RecordStream::put_long(out, REAP_TAG_CODE, body, size));
}

} // namespace reap::preload
