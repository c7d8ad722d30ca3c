#include "mapped_blocks.h"

#include "memory_view.h"

namespace reap::glibc {
namespace {

constexpr uint64_t bits = 7; // of a size that are flags
constexpr uint64_t mapped = 2;

} // namespace

void find_mapped_blocks(uint64_t begin, uint64_t end, uint64_t bytes, const int &ending,
                        reap_resident_around &around) noexcept {
    static constinit Residency residency;
    residency.restart(end);
    for (uint64_t at = residency.next(begin, ending); at + page <= end && around.mapped < bytes;) {
        uint64_t head[2]; // what precedes the block, and its size
        uint64_t step = page;
        if (read_memory(at, head, sizeof head)) {
            const uint64_t size = head[1] & ~bits;
            const bool is_block = head[0] == 0 && (head[1] & bits) == mapped && size % page == 0 && size != 0;
            if (is_block && size <= end - at && size <= bytes - around.mapped) {
                around.mapped += size;
                around.mapped_resident += residency.bytes(at, at + size);
                step = size;
            }
        }
        at = residency.next(at + step, ending);
    }
}

} // namespace reap::glibc
