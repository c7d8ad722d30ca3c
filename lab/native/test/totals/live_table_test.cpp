// Concern: the table holds what was put in and nothing else, through growth and many frees at the same
// places.
#include "totals/live_table.h"

#include <gtest/gtest.h>
#include <random>
#include <unordered_map>

namespace {

using reap::native::Live;
using LiveTable = reap::native::LiveTable<Live>;

TEST(LiveTable, AgreesWithAMap) {
    std::mt19937_64 random(5);
    for (const uint64_t spread : {uint64_t{64}, uint64_t{5000}, uint64_t{1} << 40}) {
        LiveTable table;
        std::unordered_map<uint64_t, uint64_t> model;
        for (int i = 0; i < 200000; ++i) {
            const uint64_t address = LiveTable::kLowest + random() % spread * 8;
            Live *found = table.find(address);
            const auto known = model.find(address);
            ASSERT_EQ(found != nullptr, known != model.end());
            if (found != nullptr) {
                ASSERT_EQ(found->size, known->second);
                table.remove(found);
                model.erase(known);
            } else {
                const uint64_t size = random();
                const LiveTable::Added added = table.add(address);
                ASSERT_TRUE(added.fresh);
                added.block = {size, 0, 0, 0};
                model.emplace(address, size);
            }
            ASSERT_EQ(table.size(), model.size());
        }
        size_t seen = 0;
        table.each([&](uint64_t address, const Live &live) {
            ++seen;
            EXPECT_EQ(model.at(address), live.size);
        });
        EXPECT_EQ(seen, model.size());
    }
}

TEST(LiveTable, AddingTwiceGivesTheSamePlace) {
    LiveTable table;
    table.add(64).block.size = 1;
    const LiveTable::Added again = table.add(64);
    EXPECT_FALSE(again.fresh);
    EXPECT_EQ(again.block.size, 1u);
    EXPECT_EQ(table.size(), 1u);
}

TEST(LiveTable, AddressesThatCannotBeKeysAreNotThere) {
    LiveTable table;
    table.add(64);
    EXPECT_EQ(table.find(0), nullptr);
    EXPECT_EQ(table.find(1), nullptr);
}

// Freeing and allocating at ever new places must not fill the table with marks, nor make it grow.
TEST(LiveTable, ChurnDoesNotFillItUp) {
    LiveTable table;
    for (uint64_t i = 2; i < 2'000'000; ++i) {
        table.add(i * 16).block = {};
        if (i >= 52) table.remove(table.find((i - 50) * 16));
    }
    EXPECT_EQ(table.size(), 50u);
    EXPECT_LE(table.bytes(), 4096u * 40);
}

// What a full group has no place for lies in the next, and is found there when a place of the first is free.
TEST(LiveTable, FindsWhatAFullGroupHasNoPlaceFor) {
    LiveTable table;
    for (uint64_t i = 0; i < 24; ++i) table.add(4096 + i).block.size = i; // one neighbourhood: one group
    for (uint64_t i = 0; i < 24; i += 2) table.remove(table.find(4096 + i));
    for (uint64_t i = 0; i < 24; ++i) {
        const Live *found = table.find(4096 + i);
        ASSERT_EQ(found != nullptr, i % 2 == 1) << i;
        if (found != nullptr) {
            EXPECT_EQ(found->size, i);
        }
    }
    for (uint64_t i = 0; i < 24; ++i) EXPECT_EQ(table.add(4096 + i).fresh, i % 2 == 0) << i;
    EXPECT_EQ(table.size(), 24u);
}

} // namespace
