#include "trace/checksum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace reap::native {

uint64_t checksum(const unsigned char *payload, size_t length, uint32_t image) noexcept {
    return XXH3_64bits_withSeed(payload, length, image);
}

} // namespace reap::native
