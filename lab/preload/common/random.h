// Random numbers, reproducible on every machine from the same seed.
#pragma once

#include <cstdint>

namespace reap::preload {

// splitmix64 (Steele, Lea and Flood, OOPSLA 2014): eight bytes of state, a few instructions a number.
class Random {
  public:
    constexpr Random() noexcept = default;
    explicit constexpr Random(uint64_t seed) noexcept : state_(seed) {}

    constexpr uint64_t next() noexcept {
        uint64_t z = (state_ += UINT64_C(0x9e3779b97f4a7c15));
        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        return z ^ (z >> 31);
    }

    // Uniform in [0, limit); `limit` is at least 1. Multiplication with rejection of the biased draws
    // (Lemire, 2019).
    constexpr uint64_t below(uint64_t limit) noexcept {
        Wide product = Wide{next()} * limit;
        if (static_cast<uint64_t>(product) < limit) {
            const uint64_t favoured = -limit % limit;
            while (static_cast<uint64_t>(product) < favoured) product = Wide{next()} * limit;
        }
        return static_cast<uint64_t>(product >> 64);
    }

  private:
    __extension__ using Wide = unsigned __int128;

    uint64_t state_ = 0;
};

} // namespace reap::preload
