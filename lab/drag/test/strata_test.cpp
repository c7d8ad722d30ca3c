// Strata: one sampled byte in each, and every object stands for its size.
#include "strata.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "random.h"

namespace {

using reap::drag::Strata;
using reap::preload::Random;

TEST(Strata, HaveOneByteEachThatIsDrawn) {
    Strata strata;
    Random random(1);
    int strata_begun = 0;
    int drawn = 0;
    strata.pass(0, random, [&] { return ++strata_begun, uint64_t{100}; });
    for (int byte = 0; byte < 10'000; ++byte) {
        const uint64_t stands = strata.pass(1, random, [&] { return ++strata_begun, uint64_t{100}; });
        EXPECT_TRUE(stands == 0 || stands == 100);
        if (stands != 0) ++drawn;
    }
    EXPECT_EQ(drawn, 100);
    EXPECT_EQ(strata_begun, 101);
}

TEST(Strata, SayHowFarNothingHappens) {
    Strata strata;
    Random random(2);
    const auto next = [] { return uint64_t{5000}; };
    strata.pass(0, random, next);
    for (int i = 0; i < 100; ++i) {
        const int64_t room = strata.room();
        ASSERT_GE(room, 0);
        if (room != 0) {
            EXPECT_EQ(strata.pass(static_cast<uint64_t>(room) - 1, random, next), 0U);
        }
        strata.pass(2, random, next);
    }
}

// What an object stands for is its size on average, wherever it lies, also while the past of the draws
// decides how long strata are.
TEST(Strata, LetEveryObjectStandForItsSize) {
    constexpr int kRuns = 20'000;
    const std::vector<uint64_t> sizes = {10, 300, 1, 450, 80, 80, 200, 16, 490, 33, 250, 7};
    std::vector<double> sums(sizes.size());
    std::vector<double> squares(sizes.size());
    for (int run = 0; run < kRuns; ++run) {
        Strata strata;
        Random random(static_cast<uint64_t>(run));
        uint64_t drawn = 0;
        const auto next = [&drawn] { return drawn % 2 == 0 ? uint64_t{1000} : uint64_t{600}; };
        strata.pass(0, random, next);
        for (size_t i = 0; i < sizes.size(); ++i) {
            const uint64_t stands = strata.pass(sizes[i], random, next);
            if (stands != 0) ++drawn;
            sums[i] += static_cast<double>(stands);
            squares[i] += static_cast<double>(stands) * static_cast<double>(stands);
        }
    }
    for (size_t i = 0; i < sizes.size(); ++i) {
        const double mean = sums[i] / kRuns;
        const double error = std::sqrt((squares[i] / kRuns - mean * mean) / kRuns);
        EXPECT_NEAR(mean, static_cast<double>(sizes[i]), 4.5 * error) << i;
    }
}

TEST(Strata, AreNeverHalfAsLongAsTheLast) {
    Strata strata;
    Random random(3);
    uint64_t wanted = 1'000'000;
    const auto next = [&wanted] { return wanted; };
    strata.pass(0, random, next);
    wanted = 10;
    while (strata.length() == 1'000'000) strata.pass(1000, random, next);
    EXPECT_EQ(strata.length(), 500'000U);
}

} // namespace
