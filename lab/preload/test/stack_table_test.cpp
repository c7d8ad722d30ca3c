// Concern: an edge has one number for ever, for readers without a lock while others add and the table grows.
#include "stack_table.h"

#include <atomic>
#include <ctime>
#include <deque>
#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace {

using reap::preload::StackTable;

TEST(StackTable, NumbersEdgesFromOneInOrder) {
    StackTable table;
    EXPECT_EQ(table.find(0, 0x1000), 0u);
    EXPECT_EQ(table.add(0, 0x1000), 1u);
    EXPECT_EQ(table.add(1, 0x1000), 2u);
    EXPECT_EQ(table.find(0, 0x1000), 1u);
    EXPECT_EQ(table.find(1, 0x1000), 2u);
    EXPECT_EQ(table.find(2, 0x1000), 0u);
}

// Some parents have many callees, and many have few.
TEST(StackTable, KeepsEveryEdgeThroughGrowthUntilItsCodeIsUnloaded) {
    StackTable table;
    std::map<std::pair<uint32_t, uint64_t>, uint32_t> model;
    std::mt19937_64 random(4);
    uint32_t numbers = 0;
    constexpr uint64_t kBegin = 0x400000;
    for (int i = 0; i < 100000; ++i) {
        if (i % 20000 == 19999) {
            const uint64_t begin = kBegin + random() % 4000;
            table.invalidate(begin, begin + 1000);
            std::erase_if(model, [begin](const auto &edge) {
                return edge.first.second > begin && edge.first.second <= begin + 1000;
            });
        }
        const auto parent = static_cast<uint32_t>(random() % (random() % 2 == 0 ? 100 : 100000));
        const uint64_t address = kBegin + random() % (parent < 100 ? 5000 : 4);
        const uint32_t known = table.find(parent, address);
        const auto found = model.find({parent, address});
        ASSERT_EQ(known, found == model.end() ? 0 : found->second);
        if (known != 0) continue;
        model[{parent, address}] = table.add(parent, address);
        ASSERT_EQ(table.find(parent, address), ++numbers);
    }
    for (const auto &[edge, number] : model) ASSERT_EQ(table.find(edge.first, edge.second), number);
}

TEST(StackTable, TakesNumbersOfTheCallers) {
    StackTable table;
    for (uint32_t parent = 0; parent < 1000; parent += 10)
        for (uint32_t address = 1; address < 20; ++address)
            table.put(parent, address, parent * 100 + address);
    for (uint32_t parent = 0; parent < 1000; ++parent)
        for (uint32_t address = 1; address < 20; ++address)
            ASSERT_EQ(table.find(parent, address), parent % 10 != 0 ? 0 : parent * 100 + address);
}

// The hash once left a parent's number out of the bits that choose a place: recursive programs searched for
// microseconds where a few nanoseconds do. Here that would be five thousand million steps.
TEST(StackTable, RecursionIsFoundAsFastAsAllElse) {
    StackTable table;
    constexpr uint32_t kDeep = 100000;
    const std::clock_t before = std::clock();
    for (uint32_t parent = 0; parent < kDeep; ++parent) ASSERT_EQ(table.add(parent, 0x401000), parent + 1);
    for (uint32_t parent = 0; parent < kDeep; ++parent) ASSERT_EQ(table.find(parent, 0x401000), parent + 1);
    EXPECT_LT(std::clock() - before, CLOCKS_PER_SEC);
}

TEST(StackTable, ReadersNeedNoLock) {
    StackTable table;
    std::mutex adding;
    std::atomic<bool> wrong = false;
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (unsigned number = 0; number < 4; ++number) {
        threads.emplace_back([&, number] {
            std::mt19937_64 random(number);
            std::map<uint64_t, uint32_t> mine;
            for (int i = 0; i < 20000; ++i) {
                const uint64_t address = 0x1000 + random() % 8000;
                uint32_t id = table.find(7, address);
                if (id == 0) {
                    const std::scoped_lock guard(adding);
                    id = table.find(7, address);
                    if (id == 0) id = table.add(7, address);
                }
                const auto [known, fresh] = mine.emplace(address, id);
                if (!fresh && known->second != id) wrong = true;
            }
        });
    }
    for (std::thread &thread : threads) thread.join();
    EXPECT_FALSE(wrong);
}

// A reader that came to an empty place once read its id a second time, and got that of another edge which had
// been added there between the two.
TEST(StackTable, AnEdgeThatIsAddedMeanwhileIsNotTakenForAnother) {
    constexpr uint64_t kEdges = 1000; // of a table that does not grow: its empty places are taken quickly
    std::deque<StackTable> tables(1);
    std::atomic<StackTable *> current = &tables.front();
    std::atomic<bool> ended = false;
    std::atomic<unsigned> wrong = 0;
    std::thread reader([&] {
        for (uint64_t absent = 1; !ended; absent += 2)
            if (current.load()->find(7, absent) != 0) ++wrong;
    });
    for (int number = 0; number < 800; ++number) {
        StackTable &table = tables.emplace_back();
        current = &table;
        for (uint64_t address = 2; address <= 2 * kEdges; address += 2) table.add(7, address);
    }
    ended = true;
    reader.join();
    EXPECT_EQ(wrong, 0u);
}

} // namespace
