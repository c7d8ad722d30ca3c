// The time between two windows is shared by both.
#include "attach/standing.h"

#include <gtest/gtest.h>

namespace reap::native {
namespace {

TEST(Standing, TheFirstWindowDoesNotStandForTheTimeUntilTheSecondAlone) {
    const auto [of_first, of_second] = share_gap({2, 1}, {0.05, 0.05}, {0.01, 0.01});
    EXPECT_DOUBLE_EQ(of_first.seconds, 1);
    EXPECT_DOUBLE_EQ(of_first.cpu, 0.5);
    EXPECT_DOUBLE_EQ(of_second.seconds, 1);
    EXPECT_DOUBLE_EQ(of_second.cpu, 0.5);
}

TEST(Standing, AWindowThatTheProcessesEndCutShortStandsForNothing) {
    const auto [of_first, of_second] = share_gap({2, 1}, {0.05, 0.05}, {0.001, 0.001});
    EXPECT_DOUBLE_EQ(of_first.cpu, 1);
    EXPECT_DOUBLE_EQ(of_second.seconds, 0);
}

TEST(Standing, CpuTimeIsOfTheWindowThatUsedAny) {
    EXPECT_DOUBLE_EQ(share_gap({2, 1}, {0.05, 0}, {0.05, 0.01}).second.cpu, 1);
    EXPECT_DOUBLE_EQ(share_gap({2, 1}, {0.05, 0.01}, {0.05, 0}).first.cpu, 1);
}

TEST(Standing, CallsBelongToCpuTimeUnlessTheProcessSleeps) {
    EXPECT_DOUBLE_EQ(calls_for_each({0.1, 0.05}, {0.9, 0.05}, false), 2);
    EXPECT_DOUBLE_EQ(calls_for_each({0.1, 0.05}, {0.9, 0.05}, true), 10);
    EXPECT_DOUBLE_EQ(calls_for_each({0.1, 0}, {0.9, 0}, false), 1);
}

} // namespace
} // namespace reap::native
