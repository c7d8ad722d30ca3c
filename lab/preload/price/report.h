// What a preload tells the lab: the CPU time that was not the program's, and whether memory ended.
#pragma once

#include <cstddef>

namespace reap::preload {

// Opens the file that the environment names. What was reported before is kept and written then.
void open_report() noexcept;

// Makes pages resident that nobody has touched yet, and reports what that costs.
void touch_ahead(void *memory, size_t bytes) noexcept;

// Reports that memory ended before the program did. Cheap when it was reported before.
void report_end() noexcept;

// The most bytes that this process may take for what it never frees: half of the memory that was available
// when it was first called, and at most what the environment says.
size_t most_bytes() noexcept;

} // namespace reap::preload
