#include "windows.h"

#include <cstring>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

namespace {

using reap::drag::Windows;

class WindowsTest : public testing::Test {
  protected:
    void SetUp() override { ASSERT_TRUE(windows.reserve()); }
    Windows windows;
};

TEST_F(WindowsTest, SeeWhoeverUsesAnObject) {
    const uint32_t slot = windows.take(100);
    auto *object = static_cast<volatile char *>(windows.address(slot));
    EXPECT_EQ(windows.look(slot, 100), Windows::Seen::Unused);
    object[5] = 'a';
    EXPECT_EQ(windows.look(slot, 100), Windows::Seen::Used);
    windows.arm(slot, 100);
    EXPECT_EQ(windows.look(slot, 100), Windows::Seen::Unused);
    EXPECT_EQ(object[5], 'a'); // nothing was lost, and reading counts
    EXPECT_EQ(windows.look(slot, 100), Windows::Seen::Used);
}

TEST_F(WindowsTest, SeeTheKernelReadAndWrite) {
    const uint32_t slot = windows.take(100);
    auto *object = static_cast<char *>(windows.address(slot));
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    ASSERT_EQ(write(ends[1], "text", 4), 4);
    windows.arm(slot, 100);
    ASSERT_EQ(read(ends[0], object, 4), 4);
    EXPECT_EQ(windows.look(slot, 100), Windows::Seen::Used);
    windows.arm(slot, 100);
    ASSERT_EQ(write(ends[1], object, 4), 4);
    EXPECT_EQ(windows.look(slot, 100), Windows::Seen::Used);
    close(ends[0]);
    close(ends[1]);
}

TEST_F(WindowsTest, ANeighbourIsNotTakenForUsed) {
    const uint32_t one = windows.take(100);
    const uint32_t other = windows.take(100);
    memset(windows.address(one), 1, 100);
    memset(windows.address(other), 1, 100);
    windows.arm(one, 100);
    windows.arm(other, 100);
    EXPECT_EQ(*static_cast<volatile char *>(windows.address(one)), 1);
    EXPECT_EQ(windows.look(other, 100), Windows::Seen::Unused);
}

TEST_F(WindowsTest, ALargeObjectIsUsedWhereverItIs) {
    constexpr size_t bytes = (size_t{5} << 20) + 1;
    const uint32_t slot = windows.take(bytes);
    static_cast<volatile char *>(windows.address(slot))[bytes - 1] = 1;
    EXPECT_EQ(windows.look(slot, bytes), Windows::Seen::Used);
    const uint32_t next = windows.take(1);
    EXPECT_GE(next, slot + bytes / Windows::kSlot);
}

TEST_F(WindowsTest, WhatWasGivenBackIsUsedAgainAndZero) {
    const uint32_t slot = windows.take(5000);
    memset(windows.address(slot), 0xff, 5000);
    windows.give(slot, 5000);
    ASSERT_EQ(windows.take(4000), slot);
    const auto *bytes = static_cast<const char *>(windows.address(slot));
    EXPECT_EQ(std::vector<char>(bytes, bytes + 5000), std::vector<char>(5000));
}

TEST_F(WindowsTest, AreSeparateAfterwards) {
    const uint32_t slot = windows.take(10);
    auto *object = static_cast<char *>(windows.address(slot));
    strcpy(object, "before");
    ASSERT_TRUE(windows.separate([slot](auto copy) { copy(slot, 10); }));
    EXPECT_STREQ(object, "before");
    strcpy(object, "after");
    EXPECT_TRUE(windows.owns(object));
    EXPECT_FALSE(windows.owns(&slot));
}

TEST_F(WindowsTest, RunOutWithoutHarm) {
    EXPECT_EQ(windows.take(size_t{1} << 40), Windows::kNone);
    EXPECT_NE(windows.take(size_t{1} << 30), Windows::kNone);
}

} // namespace
