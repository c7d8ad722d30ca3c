// The time between two windows is shared by both.
#include "attach/standing.h"

#include <gtest/gtest.h>

namespace reap::native {
namespace {

TEST(Standing, TwoWindowsShareTheTimeBetweenThem) {
    const auto [of_first, of_second] = share_gap({2, 1}, {0.05, 0.05}, {0.01, 0.01}, false);
    EXPECT_DOUBLE_EQ(of_first.seconds, 1);
    EXPECT_DOUBLE_EQ(of_first.cpu, 0.5);
    EXPECT_DOUBLE_EQ(of_second.seconds, 1);
    EXPECT_DOUBLE_EQ(of_second.cpu, 0.5);
}

TEST(Standing, TheFirstWindowStandsForAsMuchAgainAtMost) {
    const auto [of_first, of_second] = share_gap({2, 1}, {0.05, 0.04}, {0.01, 0.01}, true);
    EXPECT_DOUBLE_EQ(of_first.seconds, 0.05);
    EXPECT_DOUBLE_EQ(of_first.cpu, 0.04);
    EXPECT_DOUBLE_EQ(of_second.seconds, 1.95);
    EXPECT_DOUBLE_EQ(of_second.cpu, 0.96);
    EXPECT_DOUBLE_EQ(share_gap({2, 1}, {1.5, 1.5}, {0.01, 0.01}, true).first.seconds, 1);
    EXPECT_DOUBLE_EQ(share_gap({0, 0}, {1.5, 1.5}, {0.01, 0.01}, true).first.seconds, 0);
}

TEST(Standing, AWindowThatTheProcessesEndCutShortStandsForNothing) {
    const auto [of_first, of_second] = share_gap({2, 1}, {0.05, 0.05}, {0.001, 0.001}, true);
    EXPECT_DOUBLE_EQ(of_first.cpu, 1);
    EXPECT_DOUBLE_EQ(of_second.seconds, 0);
}

TEST(Standing, CpuTimeIsOfTheWindowThatUsedAny) {
    EXPECT_DOUBLE_EQ(share_gap({2, 1}, {0.05, 0}, {0.05, 0.01}, false).second.cpu, 1);
    EXPECT_DOUBLE_EQ(share_gap({2, 1}, {0.05, 0.01}, {0.05, 0}, false).first.cpu, 1);
}

TEST(Standing, CallsBelongToCpuTimeUnlessTheProcessSleeps) {
    EXPECT_DOUBLE_EQ(calls_for_each({0.1, 0.05}, {0.9, 0.05}, false), 2);
    EXPECT_DOUBLE_EQ(calls_for_each({0.1, 0.05}, {0.9, 0.05}, true), 10);
    EXPECT_DOUBLE_EQ(calls_for_each({0.1, 0}, {0.9, 0}, false), 1);
}

} // namespace
} // namespace reap::native
