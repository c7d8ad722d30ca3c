// Where a call came from.
#pragma once

#include <cstddef>
#include <cstdint>

namespace reap::preload {

// Fills `frames` with the return addresses of the calling thread's stack, innermost first, without the
// preload's own frames and `most` at the most; returns how many. Walks unwind tables (about 0.1 us a frame),
// takes no lock and does not allocate; frames without tables end the walk, and so does, on a stack that the
// program has made itself, the 64 KB before its end.
size_t walk_stack(uint64_t *frames, size_t most) noexcept;

// From here on no system call is made for it: a stack that a program has made itself is walked by its first
// frame alone.
void stop_asking_of_stacks() noexcept;

} // namespace reap::preload
