// Concern: gaps are exponential with the mean that the weights assume, and the steering settles at its
// target.
#include "poisson.h"

#include <cmath>
#include <gtest/gtest.h>

namespace {

using reap::preload::natural_log;
using reap::preload::Period;
using reap::preload::Random;

TEST(NaturalLog, IsWithinABillionth) {
    Random random(1);
    for (int i = 0; i < 200000; ++i) {
        const double x = (static_cast<double>(random.next() >> 11) + 1.0) * 0x1p-53;
        EXPECT_NEAR(natural_log(x), std::log(x), 1e-9 * std::max(1.0, -std::log(x)));
    }
    EXPECT_NEAR(natural_log(1.0), 0.0, 1e-12);
    EXPECT_NEAR(natural_log(0x1p-53), std::log(0x1p-53), 1e-7);
}

TEST(Random, GapsAreExponential) {
    Random random(2);
    constexpr int kCount = 400000;
    constexpr double kMean = 100000;
    double sum = 0;
    double squares = 0;
    int beyond = 0;
    for (int i = 0; i < kCount; ++i) {
        const auto gap = static_cast<double>(reap::preload::gap(random, static_cast<uint64_t>(kMean)));
        ASSERT_GE(gap, 1);
        sum += gap;
        squares += gap * gap;
        beyond += gap > kMean ? 1 : 0;
    }
    const double mean = sum / kCount;
    EXPECT_NEAR(mean / kMean, 1.0, 0.01);
    EXPECT_NEAR(std::sqrt(squares / kCount - mean * mean) / kMean, 1.0, 0.02);
    EXPECT_NEAR(static_cast<double>(beyond) / kCount, std::exp(-1.0), 0.005);
}

// A program that allocates at a steady rate is sampled about five hundred times a second, whatever the rate.
TEST(Period, SettlesAtFiveHundredASecond) {
    for (const double bytes_per_ns : {0.01, 0.1, 1.0, 10.0}) {
        Period period;
        Random random(3);
        double ns = 0;
        int samples = 0;
        while (ns < 5e9) {
            const double step =
                static_cast<double>(reap::preload::gap(random, period.bytes())) / bytes_per_ns;
            ns += step;
            ++samples;
            period.sampled(static_cast<uint64_t>(step), Period::kFirst);
        }
        EXPECT_GT(samples, 1250) << bytes_per_ns;
        EXPECT_LT(samples, 5000) << bytes_per_ns;
    }
}

// A program that ends after a fifth of a second has more than a hundred samples all the same.
TEST(Period, SamplesAShortProgramOften) {
    for (const double bytes_per_ns : {0.1, 1.0, 10.0}) {
        Period period;
        Random random(3);
        double ns = 0;
        int samples = 0;
        for (; ns < 2e8; ++samples) {
            const double step =
                static_cast<double>(reap::preload::gap(random, period.bytes())) / bytes_per_ns;
            ns += step;
            period.sampled(static_cast<uint64_t>(step), Period::kFirst);
        }
        EXPECT_GT(samples, 130) << bytes_per_ns;
        EXPECT_LT(samples, 400) << bytes_per_ns;
    }
}

TEST(Period, StaysAboveItsFloorAndAFixedOneStays) {
    Period period;
    period.sampled(10'000'000, 1 << 20);
    EXPECT_EQ(period.bytes(), uint64_t{1} << 20);
    Period fixed(12345);
    fixed.sampled(1, 1 << 20);
    EXPECT_EQ(fixed.bytes(), 12345u);
}

} // namespace
