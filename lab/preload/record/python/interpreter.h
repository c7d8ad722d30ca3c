// The CPython of a process, and the Python functions that a thread of it executes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <link.h>

#include "python/code.h"
#include "reap_python.h"

namespace reap::preload {

inline constexpr size_t kMostPythonFrames = 1024;

using format::PythonFrame;

enum class PythonStatus : uint8_t {
    Absent,    // none was found
    Unchecked, // one was found, and is to be checked at the first stack
    Merged,    // its frames are known
    Unknown,   // its version is not known
    Refused    // memory does not look as it should: its frames are left alone
};

// Only reads memory of the program, and calls nothing of it but PyGILState_GetThisThreadState, which reads a
// word of the thread.
class PythonInterpreter {
  public:
    // Whether stacks may have Python functions.
    [[nodiscard]] bool there() const noexcept { return there_; }
    [[nodiscard]] PythonStatus status() const noexcept { return status_; }
    [[nodiscard]] uint64_t version() const noexcept { return version_; }
    [[nodiscard]] const PythonLayout &layout() const noexcept { return *layout_; }

    // A module that has code on the stack of the calling thread: notices whether it is an interpreter. True
    // if it is the first, and one that is not known.
    bool look_at(const link_map *module) noexcept;

    // The functions that the calling thread executes, innermost first; returns how many. Of a deeper stack
    // the innermost.
    size_t frames(PythonFrame (&out)[kMostPythonFrames]) noexcept;

  private:
    [[nodiscard]] uint64_t thread_state() const noexcept;
    [[nodiscard]] bool check(uint64_t state) const noexcept;
    [[nodiscard]] bool check_code(uint64_t frame) const noexcept;

    bool there_ = false;
    PythonStatus status_ = PythonStatus::Absent;
    uint64_t version_ = 0;
    const PythonLayout *layout_ = nullptr;
    void *(*this_thread_)() = nullptr;
    int (*initialized_)() = nullptr;
    const void *code_type_ = nullptr;
    const void *text_type_ = nullptr;
};

} // namespace reap::preload
