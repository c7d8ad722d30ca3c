// Stacks of Python functions as small numbers, and with the native stacks that they belong to.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform.h"
#include "python/interpreter.h"
#include "python/locations.h"
#include "reap_trace.h"
#include "stack_table.h"

namespace reap::preload {

// The Python functions of a thread at its last event, to be used again as far as they have not changed.
struct KnownPython {
    struct Frame {
        uint64_t frame;
        uint64_t instruction;
        CodeIdentity code;
        uint32_t stack; // the number of the stack that ends with this frame
        uint32_t location;
        bool entry;
    };
    size_t count;
    Frame frames[kMostPythonFrames];              // outermost first
    PythonFrame current[kMostPythonFrames];       // what the thread executes now, innermost first
    format::PythonRange ranges[REAP_MOST_FRAMES]; // where they are in the native stack
};

class PythonStacks {
  public:
    // The number of the stack of Python functions that the calling thread executes; 0 if it executes none, or
    // there is no memory. `known` belongs to the thread, and has the functions afterwards. `define(location,
    // layout, frame)` is called under `lock` for a line that is met for the first time.
    template <class Define>
    uint32_t number(PythonInterpreter &python, KnownPython &known, FutexLock &lock, Define define) noexcept {
        const size_t count = python.frames(known.current);
        size_t same = 0;
        while (same < count && same < known.count &&
               is_same(python.layout(), known.frames[same], known.current[count - 1 - same]))
            ++same;
        known.count = same;
        if (likely(same == count)) return count == 0 ? 0 : known.frames[count - 1].stack;
        const LockGuard guard(lock);
        for (; known.count != count; ++known.count) {
            const PythonFrame &frame = known.current[count - 1 - known.count];
            KnownPython::Frame &added = known.frames[known.count];
            added = {frame.frame, frame.instruction, identity_of(python.layout(), frame.code), 0,
                     0,           frame.entry};
            added.location = locations_.find(frame.instruction, added.code);
            if (added.location == 0) {
                added.location = locations_.add(frame.instruction, added.code);
                if (added.location == 0) return 0;
                define(added.location, python.layout(), frame);
            }
            const uint32_t caller = known.count == 0 ? 0 : known.frames[known.count - 1].stack;
            const uint64_t edge = uint64_t{added.location} << 1 | (frame.entry ? 1 : 0);
            added.stack = edges_.find(caller, edge);
            if (added.stack == 0) added.stack = edges_.add(caller, edge);
            if (added.stack == 0) return 0;
        }
        return known.frames[count - 1].stack;
    }

    // The number of a native stack with the Python functions in it; 0 if they have not been merged yet.
    [[nodiscard]] uint32_t merged(uint32_t native, uint32_t python) const noexcept {
        return merged_.find(native, python);
    }

    // Callers hold the lock.
    void put_merged(uint32_t native, uint32_t python, uint32_t both) noexcept {
        merged_.put(native, python, both);
    }

  private:
    static bool is_same(const PythonLayout &layout, const KnownPython::Frame &known,
                        const PythonFrame &now) noexcept {
        return known.frame == now.frame && known.instruction == now.instruction &&
               known.code.code == now.code && known.entry == now.entry &&
               known.code == identity_of(layout, now.code);
    }

    StackTable edges_;
    StackTable merged_;
    PythonLocations locations_;
};

} // namespace reap::preload
