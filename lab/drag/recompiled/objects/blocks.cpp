#include "objects/blocks.h"

namespace reap::drag {

uint64_t regions[(kShadowBytes >> kRegion) / 64];

namespace {

// The bits of an address that the shadow leaves out, by region: blocks are to be found again.
uint8_t high_bits[kShadowBytes >> kRegion];

} // namespace

void note_new_region(const void *pointer, size_t size) noexcept {
    const auto address = reinterpret_cast<uintptr_t>(pointer);
    const uintptr_t region = (address & kAllAddresses) >> kRegion;
    regions[region / 64] |= uint64_t{1} << region % 64;
    high_bits[region] = static_cast<uint8_t>(address >> 44);
    // Two side by side are a heap that grows, and the next is of the same kind. A lone one may be an arena of
    // a thread, of which there are many, with little in each. Of large blocks a page may be all that is used.
    constexpr size_t kSmall = 4096;
    if (size > kSmall) return;
    constexpr uintptr_t kSpan = uintptr_t{1} << kRegion;
    if (is_noted(region - 1)) expect_dense(address / kSpan * kSpan + kSpan, kSpan);
    if (is_noted(region + 1)) expect_dense(address / kSpan * kSpan - kSpan, kSpan);
}

Neighbour block_below(uintptr_t address) noexcept {
    constexpr uintptr_t kSpan = uintptr_t{1} << kRegion;
    uintptr_t at = address & kAllAddresses & ~uintptr_t{15};
    for (uintptr_t region = at >> kRegion;; --region) {
        if (regions[region / 64] == 0) {
            region &= ~uintptr_t{63}; // most are empty
        } else if (is_noted(region)) {
            if (at >> kRegion != region) at = (region << kRegion) + kSpan - 16;
            for (;; at -= 16) {
                const Block *block = block_at(reinterpret_cast<const void *>(at));
                if (block->birth != 0) return {uintptr_t{high_bits[region]} << 44 | at, block};
                if (at % kSpan == 0) break;
            }
        }
        if (region == 0) return {0, nullptr};
    }
}

void each_block(void (*each)(uintptr_t, Block &)) noexcept {
    for (uintptr_t region = 0; region < kShadowBytes >> kRegion; ++region) {
        if (region % 64 == 0 && regions[region / 64] == 0) {
            region += 63; // most are empty
            continue;
        }
        if (!is_noted(region)) continue;
        const uintptr_t begin = uintptr_t{high_bits[region]} << 44 | region << kRegion;
        for (uintptr_t at = begin; at < begin + (uintptr_t{1} << kRegion); at += 16) {
            Block *block = block_at(reinterpret_cast<const void *>(at));
            if (block->birth != 0) each(at, *block);
        }
    }
}

} // namespace reap::drag
