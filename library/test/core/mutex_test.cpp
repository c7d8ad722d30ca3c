#include "reap/core/mutex.h"

#include <gtest/gtest.h>
#include <thread>

namespace {

constinit reap::Mutex mutex; // usable before any constructor has run

TEST(Mutex, OneThreadAtATimeHoldsIt) {
    constexpr int turns = 10000;
    int count = 0;
    const auto add = [&count] {
        for (int turn = 0; turn < turns; ++turn) {
            const reap::MutexLock lock(mutex);
            ++count;
        }
    };
    std::thread other(add);
    add();
    other.join();
    EXPECT_EQ(count, 2 * turns);
}

} // namespace
