// Which file is mapped at an address of this process.
#pragma once

#include <cstddef>
#include <cstdint>

namespace reap::preload {

// Reads its path from /proc/self/maps; returns the length, or 0 if no file is mapped there, or its path has
// more than `capacity` bytes.
size_t read_mapped_path(uint64_t address, char *path, size_t capacity) noexcept;

} // namespace reap::preload
