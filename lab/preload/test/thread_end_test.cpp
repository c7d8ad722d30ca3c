// No thread's end is lost, also not of those that come first at the same time.
#include "thread_end.h"

#include <array>
#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <thread>

namespace {

using namespace reap::preload;

std::atomic<int> ended{0};

TEST(ThreadEnd, ThreadsThatRaceForItAllSeeTheirEnd) {
    constexpr int rounds = 20; // a key each, of 1,024, which stays
    constexpr int each = 4;
    for (int round = 0; round < rounds; ++round) {
        ended = 0;
        ThreadEnd end([](void *) { ++ended; });
        std::atomic<int> waiting{each};
        std::atomic<int> refused{0};
        std::array<std::thread, each> threads;
        for (std::thread &thread : threads) {
            thread = std::thread([&] {
                for (--waiting; waiting > 0;) std::this_thread::yield();
                if (!end.expect(&end)) ++refused;
            });
        }
        for (std::thread &thread : threads) thread.join();
        ASSERT_EQ(refused, 0) << round;
        ASSERT_EQ(ended, each) << round;
    }
}

} // namespace
