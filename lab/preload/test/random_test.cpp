// Concern: the same numbers for the same seed on every machine, and no number below a limit favoured.
#include "random.h"

#include <gtest/gtest.h>
#include <vector>

#include "chi_squared.h"

namespace {

using reap::preload::Random;

// The generator's published first numbers for the seed 1234567.
TEST(Random, IsSplitmix64) {
    Random random(1234567);
    EXPECT_EQ(random.next(), UINT64_C(6457827717110365317));
    EXPECT_EQ(random.next(), UINT64_C(3203168211198807973));
    EXPECT_EQ(random.next(), UINT64_C(9817491932198370423));
}

TEST(Random, FavoursNoNumberBelowALimit) {
    // Three quarters of the range: without throwing draws away, the first third of the numbers would come
    // twice as often as the others.
    constexpr uint64_t kLimit = UINT64_C(3) << 62;
    Random random(7);
    std::vector<double> seen(3);
    constexpr int kDraws = 300000;
    for (int i = 0; i < kDraws; ++i) {
        const uint64_t number = random.below(kLimit);
        ASSERT_LT(number, kLimit);
        ++seen[number >> 62];
    }
    EXPECT_LT(reap::test::chi_squared_deviation(seen, {kDraws / 3.0, kDraws / 3.0, kDraws / 3.0}), 4);
}

TEST(Random, BelowOneIsZero) {
    Random random(3);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(random.below(1), 0u);
}

} // namespace
