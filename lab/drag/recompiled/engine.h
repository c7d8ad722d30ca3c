// The clock, the blocks and the recording together, for the allocation functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform.h"
#include "reap_drag.h"
#include "stack.h"

namespace reap::drag {

// While it lives, what the thread allocates is not recorded: it is ours.
class Busy {
  public:
    Busy() noexcept;
    ~Busy();
    Busy(const Busy &) = delete;
    Busy &operator=(const Busy &) = delete;
};

// Starts the engine if REAP_DRAG_FOLDER asks for it; else accesses are marked in one page, and nothing is
// recorded. Comes before the C library's own start, whose getenv has nothing yet.
void start(char **environment) noexcept;
// Writes what is still in use. Nothing in a child of vfork, whose memory is its parent's, and in a signal's
// handler that interrupted the engine: the file then looks as if the process was killed.
void finish(reap_drag_end how) noexcept;
// This is the child of a fork that ran no handlers: it has a recording of its own from here on.
void forked() noexcept;
// The program was not replaced after all.
void resume() noexcept;

// A block was allocated; `frame` and `caller` are those of the function that the program called. Takes a
// lock.
void born(const void *pointer, size_t size, const void *frame, const void *caller) noexcept;
// A block is about to be freed; costs a look at each eight bytes of it. `copied`: to another one, by realloc,
// which is a use.
void died(const void *pointer, bool copied = false) noexcept;
// How many bytes were asked for; kUnknown of what is none of ours.
size_t size_of(const void *pointer) noexcept;
inline constexpr size_t kUnknown = SIZE_MAX;

// For pools.cpp, whose objects are beside the blocks.

// Whether what this thread does is recorded.
bool records() noexcept;
// While one lives the recording is this thread's, and so is what is known of pools and chunks. Takes a lock
// unless the thread is alone.
class Turn {
  public:
    Turn() noexcept;
    ~Turn();
    Turn(const Turn &) = delete;
    Turn &operator=(const Turn &) = delete;

  private:
    preload::ErrnoGuard keep_;
    bool locked_;
};
// A step of the clock, which is recorded; 0 once the clock has come to its end. In one's turn.
uint32_t step(uint32_t kind, const Stack &stack, size_t size) noexcept;
// The end of what was born at that step; `flags` beside those of its use. In one's turn.
void write_end(uint32_t kind, uintptr_t address, size_t size, uint32_t birth, uint32_t flags) noexcept;

} // namespace reap::drag
