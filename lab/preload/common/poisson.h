// Which allocations are sampled: a Poisson process over allocated bytes.
#pragma once

#include <cstdint>
#include <cstring>
#include <numbers>

#include "random.h"

namespace reap::preload {

// Added to the size of every block, so that small and empty blocks are sampled too.
inline constexpr int64_t kSampleSlack = 16;

// log(x) for x in (0, 1], within 1e-9. Avoids libm, which would be another library in the measured program.
inline double natural_log(double x) noexcept {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int exponent = static_cast<int>(bits >> 52) - 1022;
    bits = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1022) << 52; // mantissa in [0.5, 1)
    double mantissa;
    memcpy(&mantissa, &bits, sizeof mantissa);
    if (mantissa < 0.70710678118654752) {
        mantissa *= 2;
        --exponent;
    }
    const double z = (mantissa - 1) / (mantissa + 1); // |z| < 0.172
    const double z2 = z * z;
    const double series =
        1 + z2 * (1.0 / 3 + z2 * (1.0 / 5 + z2 * (1.0 / 7 + z2 * (1.0 / 9 + z2 * (1.0 / 11)))));
    return 2 * z * series + exponent * std::numbers::ln2;
}

// Bytes to the next sample, exponentially distributed with this mean; at least 1.
inline int64_t gap(Random &random, uint64_t mean) noexcept {
    const double uniform = (static_cast<double>(random.next() >> 11) + 1.0) * 0x1p-53; // (0, 1]
    return 1 + static_cast<int64_t>(-natural_log(uniform) * static_cast<double>(mean));
}

// The mean gap, adjusted so that a thread takes about five hundred samples a second whatever it allocates:
// with its stack walk a sample costs about ten microseconds, and all of them must stay within half a percent.
// The first few hundred of a thread come twice as fast, for programs that end within a second.
// The current gap keeps the mean that it was drawn with, so adjusting by past samples leaves the weights
// exact.
class Period {
  public:
    static constexpr uint64_t kFirst = 4096;
    static constexpr uint64_t kLargest = UINT64_C(1) << 30;
    static constexpr uint32_t kEarly = 256; // samples

    Period() = default;
    // A fixed mean gap; 0 for one that is adjusted.
    explicit constexpr Period(uint64_t fixed) noexcept
        : bytes_(fixed != 0 ? fixed : kFirst), steered_(fixed == 0) {}

    [[nodiscard]] uint64_t bytes() const noexcept { return bytes_; }

    // A sample was taken `elapsed_ns` after the previous one. `floor` is the minimum of the mean.
    void sampled(uint64_t elapsed_ns, uint64_t floor) noexcept {
        if (!steered_) return;
        const uint64_t target_ns = early_ != 0 ? kTargetNs / 2 : kTargetNs;
        if (early_ != 0) --early_;
        // Gaps are exponential, so at the target both are equally likely (1 - exp(-1/4) = exp(-3/2)).
        if (elapsed_ns < target_ns / 4 && bytes_ < kLargest) {
            bytes_ *= 2;
        } else if (elapsed_ns > target_ns * 3 / 2 && bytes_ > kFirst) {
            bytes_ /= 2;
        }
        if (bytes_ < floor) bytes_ = floor;
    }

  private:
    static constexpr uint64_t kTargetNs = 2'000'000;
    uint64_t bytes_ = kFirst;
    uint32_t early_ = kEarly; // left
    bool steered_ = true;
};

} // namespace reap::preload
