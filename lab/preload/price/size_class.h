// Size classes: multiples of 16 bytes up to 1 KiB, then four to each doubling.
#pragma once

#include <cstddef>
#include <cstdint>

namespace reap::preload {

inline constexpr size_t kStep = 16;
inline constexpr size_t kLinear = 1024; // the largest size of a linear class
inline constexpr uint32_t kLinearClasses = kLinear / kStep + 1;
inline constexpr unsigned kFirstDoubling = 10;
inline constexpr unsigned kLastDoubling = 40;
inline constexpr uint32_t kClasses = kLinearClasses + (kLastDoubling + 1 - kFirstDoubling) * 4;
inline constexpr size_t kLargest = size_t{1} << (kLastDoubling + 1);
static_assert(kClasses < 256); // a class fits into a byte

// The class of a size up to kLargest. Class 0 is no class; a block of size 0 is of class 1.
inline uint32_t class_of(size_t size) noexcept {
    if (__builtin_expect(static_cast<long>(size <= kLinear), 1) != 0) {
        return static_cast<uint32_t>((size + kStep - 1) / kStep) + (size == 0 ? 1 : 0);
    }
    const size_t last = size - 1;
    const auto doubling = static_cast<unsigned>(63 - __builtin_clzll(last));
    return kLinearClasses + (doubling - kFirstDoubling) * 4 +
           static_cast<uint32_t>((last >> (doubling - 2)) & 3);
}

constexpr size_t compute_size(uint32_t index) noexcept {
    if (index < kLinearClasses) return index * kStep;
    const uint32_t beyond = index - kLinearClasses;
    return size_t{5 + beyond % 4} << (kFirstDoubling - 2 + beyond / 4);
}

struct ClassSizes {
    size_t bytes[kClasses];
};

inline constexpr ClassSizes kSizes = [] {
    ClassSizes sizes{};
    for (uint32_t index = 0; index < kClasses; ++index) sizes.bytes[index] = compute_size(index);
    return sizes;
}();

// The block size of a class in bytes.
inline size_t size_of(uint32_t index) noexcept { return kSizes.bytes[index]; }

} // namespace reap::preload
