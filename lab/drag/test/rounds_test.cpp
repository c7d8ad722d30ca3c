// Rounds: every class of objects is checked once an interval, whatever the interval becomes.
#include "rounds.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "random.h"

namespace {

using reap::drag::Rounds;
constexpr uint32_t kClasses = Rounds::kClasses;

TEST(Rounds, ComeAtEveryClassOnceInAnInterval) {
    Rounds rounds;
    rounds.begin(0.3);
    rounds.pass(0, 1000, [](uint32_t, uint64_t, uint64_t) {});
    std::vector<int> looks(kClasses);
    for (int i = 0; i < 1000; ++i) {
        rounds.pass(7, 1000, [&looks](uint32_t kind, uint64_t, uint64_t times) {
            looks[kind] += static_cast<int>(times);
        });
    }
    for (const int each : looks) EXPECT_EQ(each, 7);
}

TEST(Rounds, SayHowFarTheNextLookIs) {
    Rounds rounds;
    rounds.begin(0);
    int looks = 0;
    const auto count = [&looks](uint32_t, uint64_t, uint64_t) { ++looks; };
    rounds.pass(100, 16000, count);
    EXPECT_EQ(rounds.ahead(16000), 900);
    EXPECT_EQ(rounds.ahead(32000), 1800); // the part of the way that is left, and not the bytes
    rounds.pass(899, 16000, count);
    EXPECT_EQ(looks, 0);
    rounds.pass(1, 16000, count);
    EXPECT_EQ(looks, 1);
}

TEST(Rounds, AnAllocationOverManyIsOneLookThatCountsAsMany) {
    Rounds rounds;
    rounds.begin(0.5);
    rounds.pass(0, 100, [](uint32_t, uint64_t, uint64_t) {});
    std::vector<uint64_t> looks(kClasses);
    std::vector<int> calls(kClasses);
    uint64_t turns = 0;
    for (const uint64_t bytes : {uint64_t{1000}, uint64_t{1'000'000'000'000}, uint64_t{130}}) {
        turns += rounds
                     .pass(bytes, 100,
                           [&](uint32_t kind, uint64_t, uint64_t times) {
                               looks[kind] += times;
                               ++calls[kind];
                           })
                     .count;
    }
    EXPECT_LE(*std::ranges::max_element(calls), 7);
    const auto [least, most] = std::ranges::minmax_element(looks);
    EXPECT_LE(*most - *least, 1u);
    EXPECT_NEAR(static_cast<double>(*least), 1e10, 20);
    EXPECT_EQ(turns, std::accumulate(looks.begin(), looks.end(), uint64_t{0}));
}

TEST(Rounds, SomebodyWithOneInEveryStepHasThemAll) {
    EXPECT_EQ(Rounds::own({10, 1}, 4, 2), 1u);
    EXPECT_EQ(Rounds::own({10, 1}, 4, 7), 0u);
    EXPECT_EQ(Rounds::own({10, 2}, 4, 7), 1u);
    EXPECT_EQ(Rounds::own({0, 100}, 8, 3), 13u);
    EXPECT_EQ(Rounds::own({0, 100}, 8, 4), 12u);
}

TEST(Rounds, CountWhatLivedWithoutBiasHoweverTheIntervalChanges) {
    reap::preload::Random random(7);
    constexpr int kRuns = 4000;
    constexpr uint64_t kBorn = 5000;
    constexpr uint64_t kDied = 17000;
    double sum = 0;
    for (int run = 0; run < kRuns; ++run) {
        Rounds rounds;
        rounds.begin(static_cast<double>(random.next() >> 11) * 0x1p-53);
        for (uint64_t clock = 0; clock < kDied; clock += 50) {
            const double interval = clock < 9000 ? 9000 : 4000 + static_cast<double>(clock % 3000);
            rounds.pass(50, interval, [&](uint32_t kind, uint64_t, uint64_t times) {
                if (kind == 3 && clock + 50 > kBorn) sum += interval * static_cast<double>(times);
            });
        }
    }
    // The error of one is less than an interval.
    EXPECT_NEAR(sum / kRuns, kDied - kBorn, 4 * 9000 / 63.0);
}

} // namespace
