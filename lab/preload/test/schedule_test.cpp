#include "schedule.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "random.h"

namespace {

using reap::drag::Schedule;

TEST(Schedule, GivesWhatIsDueFirstWhateverTheOrderOfPlanning) {
    Schedule schedule;
    ASSERT_TRUE(schedule.reserve());
    reap::preload::Random random(1);
    std::vector<uint64_t> waiting;
    for (int step = 0; step < 20000; ++step) {
        if (waiting.empty() || random.below(5) < 3) {
            const uint64_t time = random.below(1000);
            ASSERT_TRUE(schedule.plan({time, 7, 0}));
            waiting.push_back(time);
        } else {
            const auto least = std::min_element(waiting.begin(), waiting.end());
            ASSERT_EQ(schedule.next(), *least);
            ASSERT_EQ(schedule.take().time, *least);
            waiting.erase(least);
        }
    }
}

TEST(Schedule, HasNothingDueWhenItIsEmpty) {
    Schedule schedule;
    ASSERT_TRUE(schedule.reserve());
    EXPECT_EQ(schedule.next(), UINT64_MAX);
    ASSERT_TRUE(schedule.plan({5, 1, 2}));
    EXPECT_EQ(schedule.take().turn, 2u);
    EXPECT_EQ(schedule.next(), UINT64_MAX);
}

} // namespace
