// Which threads ran, and which waited for another, poll by poll.
#include "outside/turns.h"

#include <gtest/gtest.h>

namespace reap::native {
namespace {

TEST(Turns, AWaitCountsWhileAnotherThreadOfTheProcessRuns) {
    Turns turns;
    turns.see(7, 1, true, false);
    turns.see(7, 2, false, true);
    turns.see(8, 3, false, true); // of a process in which nothing runs
    turns.end_poll();
    turns.see(7, 1, false, true);
    turns.see(7, 2, false, true);
    turns.end_poll();
    turns.see(7, 1, true, false);
    turns.see(7, 2, true, false);
    turns.end_poll();
    const ProcessTurns process = turns.processes().at(7);
    EXPECT_EQ(process.polls, 3u);
    EXPECT_EQ(process.alone, 1u);
    EXPECT_EQ(process.several, 1u);
    EXPECT_EQ(turns.threads().at({7, 1}).ran, 2u);
    EXPECT_EQ(turns.threads().at({7, 1}).waited, 0u);
    EXPECT_EQ(turns.threads().at({7, 2}).ran, 1u);
    EXPECT_EQ(turns.threads().at({7, 2}).waited, 1u);
    EXPECT_EQ(turns.processes().at(8).alone, 0u);
    EXPECT_EQ(turns.threads().at({8, 3}).waited, 0u);
}

TEST(Turns, AChangeIsAnotherThreadThatRuns) {
    Turns turns;
    const auto poll = [&](bool first, bool second) {
        turns.see(7, 1, first, !first);
        turns.see(7, 2, second, !second);
        turns.end_poll();
        return turns.processes().at(7).changes;
    };
    EXPECT_EQ(poll(true, false), 0u);
    EXPECT_EQ(poll(true, false), 0u);
    EXPECT_EQ(poll(false, true), 1u);
    EXPECT_EQ(poll(true, true), 1u);
    EXPECT_EQ(poll(false, true), 1u); // the last that ran alone
    EXPECT_EQ(poll(false, false), 1u);
    EXPECT_EQ(poll(true, true), 1u);
    EXPECT_EQ(poll(true, false), 2u);
}

TEST(Turns, ThreadsWithoutEndTakeNoMemoryWithoutEnd) {
    Turns turns;
    for (uint64_t thread = 0; thread < 70'000; ++thread) {
        turns.see(1, thread, true, false);
        turns.end_poll();
    }
    EXPECT_EQ(turns.threads().size(), 65536u);
    EXPECT_EQ(turns.processes().at(1).polls, 70'000u);
}

} // namespace
} // namespace reap::native
