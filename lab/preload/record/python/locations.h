// Lines of Python code as small numbers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "python/code.h"

namespace reap::preload {

// A hash map (instruction, code) -> number. Grows. Callers hold a lock.
class PythonLocations {
  public:
    // The number of the instruction, or 0 if it has none yet.
    [[nodiscard]] uint32_t find(uint64_t instruction, const CodeIdentity &code) const noexcept;

    // Numbers an instruction that `find` did not find; 0 if there is no memory.
    uint32_t add(uint64_t instruction, const CodeIdentity &code) noexcept;

  private:
    struct Slot {
        uint64_t instruction;
        CodeIdentity code;
        uint32_t number; // 0: an empty slot
    };

    [[nodiscard]] Slot &slot(uint64_t instruction, const CodeIdentity &code) const noexcept;
    bool grow() noexcept;

    Slot *slots_ = nullptr;
    size_t capacity_ = 0; // a power of two
    size_t used_ = 0;
};

} // namespace reap::preload
