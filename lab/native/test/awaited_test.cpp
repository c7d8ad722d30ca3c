// What threads executed while others of their process waited.
#include "outside/awaited.h"

#include <gtest/gtest.h>

namespace reap::native {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kStretch = kSecond / AwaitedThreads::kStretchesPerSecond;

TEST(Awaited, SamplesCountByHowManyThreadsWaitedThen) {
    AwaitedThreads threads(kSecond);
    threads.ran(7, 3 * kStretch + 5, true); // comes before its poll
    threads.waited(7, 3 * kStretch + 9, Awaits::lock);
    threads.waited(7, 3 * kStretch + 9, Awaits::lock);
    threads.waited(7, 5 * kStretch, Awaits::lock);
    threads.ran(7, 5 * kStretch + 1, false);
    const Awaited seen = threads.of(Awaits::lock);
    EXPECT_EQ(seen.samples, 2u);
    EXPECT_EQ(seen.waiters, 3);
    EXPECT_EQ(seen.inside, 2);
    EXPECT_EQ(threads.of(Awaits::other).samples, 0u);
}

TEST(Awaited, OtherProcessesAndOtherTimesDoNotCount) {
    AwaitedThreads threads(kSecond);
    threads.waited(7, 0, Awaits::other);
    threads.ran(8, 0, true);
    threads.ran(7, kStretch, true);
    EXPECT_EQ(threads.of(Awaits::other).samples, 0u);
}

TEST(Awaited, AHeaderThatNamesNoClockIsNoDivisionByZero) {
    AwaitedThreads threads(0);
    threads.waited(1, UINT64_MAX, Awaits::lock);
    threads.ran(1, UINT64_MAX, true);
    EXPECT_EQ(threads.of(Awaits::lock).inside, 1);
}

} // namespace
} // namespace reap::native
