// glibc's statistics before 2.33, whose fields have 32 bits.
#pragma once

#include <cstdint>
#include <malloc.h>

namespace reap::preload {

// As mallinfo2 has them. `writable` is the process's private writable memory in bytes: where it is no less
// than 4 GiB the fields may have wrapped, and all are REAP_RESIDENT_UNKNOWN.
struct mallinfo2 widen(const struct mallinfo &narrow, uint64_t writable) noexcept;

// Private writable memory of this process, from /proc/self/statm; UINT64_MAX if that cannot be read.
uint64_t writable_bytes() noexcept;

} // namespace reap::preload
