// The memory of this process; see glibc/walked_memory.h for what else this defines.
#pragma once

#include <cstdint>

namespace reap::preload {

// The program break at the start of the process; 0 if unknown. Call before there are threads: it opens a
// file.
uint64_t initial_break() noexcept;

} // namespace reap::preload
