// The checksum of a sealed block.
#pragma once

#include <cstddef>
#include <cstdint>

namespace reap::native {

// XXH3-64 of the payload, seeded with the number of the process image.
uint64_t checksum(const unsigned char *payload, size_t length, uint32_t image) noexcept;

} // namespace reap::native
