// Concern: a watched block always raises the alarm, is found once, and the filter is clean again afterwards.
#include "watch_list.h"

#include <gtest/gtest.h>
#include <random>
#include <set>
#include <thread>
#include <vector>

namespace {

using reap::preload::WatchList;

const void *at(uintptr_t address) { return reinterpret_cast<const void *>(address); }

bool alarmed(const void *pointer) {
    return WatchList::filter[WatchList::slot(pointer, WatchList::kMask)] != 0;
}

size_t alarms() {
    size_t count = 0;
    for (const uint8_t byte : WatchList::filter) count += byte != 0 ? 1 : 0;
    return count;
}

TEST(WatchList, NullAndThreadsWithoutAMaskAlwaysRaiseTheAlarm) {
    EXPECT_TRUE(alarmed(nullptr));
    EXPECT_EQ(WatchList::slot(at(0x123456789), 0), 0u);
}

TEST(WatchList, AgreesWithASet) {
    WatchList list;
    std::set<uintptr_t> model;
    std::mt19937_64 random(6);
    for (int i = 0; i < 100000; ++i) {
        const uintptr_t address = 0x10000 + random() % 3000 * 16;
        if (model.contains(address)) {
            ASSERT_TRUE(alarmed(at(address)));
            ASSERT_TRUE(list.remove(at(address)));
            model.erase(address);
        } else {
            ASSERT_FALSE(list.remove(at(address)));
            ASSERT_TRUE(list.add(at(address)));
            model.insert(address);
        }
        ASSERT_EQ(list.size(), model.size());
    }
    for (const uintptr_t address : model) EXPECT_TRUE(list.remove(at(address)));
    EXPECT_EQ(alarms(), 1u); // byte 0
}

// More than 255 blocks on one byte of the filter: it sticks, and still no alarm is missed.
TEST(WatchList, ACountThatRunsOverSticks) {
    WatchList list;
    const uintptr_t step = WatchList::kFilterBytes * 16;
    for (uintptr_t i = 1; i <= 300; ++i) ASSERT_TRUE(list.add(at(0x5550 + i * step)));
    for (uintptr_t i = 1; i <= 299; ++i) ASSERT_TRUE(list.remove(at(0x5550 + i * step)));
    EXPECT_TRUE(alarmed(at(0x5550 + 300 * step)));
    EXPECT_TRUE(list.remove(at(0x5550 + 300 * step)));
}

TEST(WatchList, ForgetsEverythingAtFork) {
    WatchList list;
    list.add(at(0x7770));
    list.forget();
    EXPECT_EQ(list.size(), 0u);
    EXPECT_FALSE(alarmed(at(0x7770)));
    EXPECT_FALSE(list.remove(at(0x7770)));
}

TEST(WatchList, ManyThreadsWatchAndFreeTheirOwn) {
    WatchList list;
    std::vector<std::thread> threads;
    threads.reserve(4);
    std::vector<int> missed(4);
    for (unsigned number = 0; number < 4; ++number) {
        threads.emplace_back([&, number] {
            std::mt19937_64 random(number);
            std::vector<uintptr_t> mine;
            for (int i = 0; i < 20000; ++i) {
                if (mine.size() < 50 || random() % 2 == 0) {
                    mine.push_back((random() % (1 << 20) * 4 + number + 1) * 16);
                    if (!list.add(at(mine.back()))) ++missed[number];
                } else {
                    if (!list.remove(at(mine.back()))) ++missed[number];
                    mine.pop_back();
                }
            }
            for (const uintptr_t address : mine) missed[number] += list.remove(at(address)) ? 0 : 1;
        });
    }
    for (std::thread &thread : threads) thread.join();
    EXPECT_EQ(missed, std::vector<int>(4));
    EXPECT_EQ(list.size(), 0u);
}

} // namespace
