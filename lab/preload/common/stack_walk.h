// Call stacks.
#pragma once

#include <cstddef>
#include <cstdint>

namespace reap::preload {

// Fills `frames` with up to `limit` return addresses of the calling thread's stack, innermost first, without
// the preload's own frames; returns how many. Walks unwind tables (about 0.1 us a frame), takes no lock and
// does not allocate. The walk ends at a frame without tables and, on a stack that the program allocated
// itself, 64 KB before its end.
size_t walk_stack(uint64_t *frames, size_t limit) noexcept;

// From now on no system call is made for walks: of a stack that the program allocated itself only the
// innermost frame is returned.
void disable_stack_probing() noexcept;

} // namespace reap::preload
