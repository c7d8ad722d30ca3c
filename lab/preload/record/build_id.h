// The GNU build id of a module, as it lies in memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace reap::preload {

inline constexpr size_t kMostBuildId = 64; // bytes; linkers write 16 or 20

// Copies the build id of the module that is mapped at [start, end), to whose addresses the loader added
// `bias`, to `out` of kMostBuildId bytes. Returns its length; 0 where there is none. Trusts nothing in the
// module, whose pages may be gone: it is read by system calls. Not reentrant.
size_t read_build_id(uint64_t start, uint64_t end, uint64_t bias, uint8_t *out) noexcept;

} // namespace reap::preload
