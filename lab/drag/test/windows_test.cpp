// Windows: every access to a protected object is seen, and none of its neighbours is taken for one.
#include "windows.h"

#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

namespace {

using reap::drag::Pagemap;
using reap::drag::Windows;

class WindowsTest : public testing::Test {
  protected:
    void SetUp() override { ASSERT_TRUE(windows.reserve()); }
    [[nodiscard]] Windows::Seen check(uint32_t slot, size_t bytes) const {
        Pagemap map;
        return windows.check(map, slot, bytes);
    }
    Windows windows;
};

TEST_F(WindowsTest, SeeWhoeverUsesAnObject) {
    const uint32_t slot = windows.take(100, 0);
    auto *object = static_cast<volatile char *>(windows.address(slot));
    EXPECT_EQ(check(slot, 100), Windows::Seen::Unused);
    object[5] = 'a';
    EXPECT_EQ(check(slot, 100), Windows::Seen::Used);
    windows.arm(slot, 100);
    EXPECT_EQ(check(slot, 100), Windows::Seen::Unused);
    EXPECT_EQ(object[5], 'a'); // nothing was lost, and reading counts
    EXPECT_EQ(check(slot, 100), Windows::Seen::Used);
}

TEST_F(WindowsTest, SeeTheKernelReadAndWrite) {
    const uint32_t slot = windows.take(100, 0);
    auto *object = static_cast<char *>(windows.address(slot));
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    ASSERT_EQ(write(ends[1], "text", 4), 4);
    windows.arm(slot, 100);
    ASSERT_EQ(read(ends[0], object, 4), 4);
    EXPECT_EQ(check(slot, 100), Windows::Seen::Used);
    windows.arm(slot, 100);
    ASSERT_EQ(write(ends[1], object, 4), 4);
    EXPECT_EQ(check(slot, 100), Windows::Seen::Used);
    close(ends[0]);
    close(ends[1]);
}

TEST_F(WindowsTest, ANeighbourIsNotTakenForUsed) {
    const uint32_t one = windows.take(100, 0);
    const uint32_t other = windows.take(100, 0);
    memset(windows.address(one), 1, 100);
    memset(windows.address(other), 1, 100);
    windows.arm(one, 100);
    windows.arm(other, 100);
    EXPECT_EQ(*static_cast<volatile char *>(windows.address(one)), 1);
    EXPECT_EQ(check(other, 100), Windows::Seen::Unused);
}

TEST_F(WindowsTest, ALargeObjectIsUsedWhereverItIs) {
    constexpr size_t bytes = (size_t{5} << 20) + 1;
    const uint32_t slot = windows.take(bytes, 0);
    static_cast<volatile char *>(windows.address(slot))[bytes - 1] = 1;
    EXPECT_EQ(check(slot, bytes), Windows::Seen::Used);
    const uint32_t next = windows.take(bytes, 0);
    EXPECT_GE(next, slot + bytes / Windows::kSlot);
}

TEST_F(WindowsTest, WhatWasGivenBackIsUsedAgainAndZero) {
    const uint32_t slot = windows.take(5000, 0);
    memset(windows.address(slot), 0xff, 5000);
    windows.release(slot, 5000);
    ASSERT_EQ(windows.take(4000, 0), slot);
    const auto *bytes = static_cast<const char *>(windows.address(slot));
    EXPECT_EQ(std::vector<char>(bytes, bytes + 4000), std::vector<char>(4000));
    windows.release(slot, 4000);
    ASSERT_EQ(windows.take(9000, 0), slot);
    EXPECT_EQ(std::vector<char>(bytes, bytes + 9000), std::vector<char>(9000));
}

TEST_F(WindowsTest, AClassHasChunksOfItsOwn) {
    std::vector<uint32_t> chunks[2];
    for (uint32_t i = 0; i < 70; ++i) {
        for (const uint32_t kind : {5u, 6u}) {
            const uint32_t chunk = windows.take(10, kind) / Windows::kChunk * Windows::kChunk;
            if (chunks[kind - 5].empty() || chunks[kind - 5].back() != chunk)
                chunks[kind - 5].push_back(chunk);
        }
    }
    EXPECT_EQ(chunks[0].size(), 3u);
    for (const uint32_t kind : {5u, 6u}) {
        std::vector<uint32_t> found;
        windows.each_chunk(kind, [&](uint32_t first) { found.push_back(first); });
        EXPECT_EQ(found, chunks[kind - 5]);
    }
    unsigned taken = 0;
    windows.each_slot([&taken](uint32_t) { ++taken; });
    EXPECT_EQ(taken, 140u);
}

TEST_F(WindowsTest, ACopyIsSeparate) {
    const uint32_t slot = windows.take(10, 0);
    auto *object = static_cast<char *>(windows.address(slot));
    strcpy(object, "before");
    char *copied = windows.copy([slot](auto copy) { copy(slot, 10); });
    ASSERT_NE(copied, nullptr);
    strcpy(object, "the parent's");
    ASSERT_TRUE(windows.install(copied));
    EXPECT_STREQ(object, "before");
    EXPECT_TRUE(windows.owns(object));
    EXPECT_FALSE(windows.owns(&slot));
}

TEST_F(WindowsTest, WhereThereIsNoRoomForWindowsACopyIsSeparateToo) {
    const uint32_t slots[] = {windows.take(10, 0), windows.take(70'000, 0)};
    const size_t sizes[] = {10, 70'000};
    for (const int i : {0, 1}) memset(windows.address(slots[i]), 'b', sizes[i]);
    const auto all = [&](auto visit) {
        for (const int i : {0, 1}) visit(slots[i], sizes[i]);
    };
    const Windows::Packed packed = windows.pack(all);
    ASSERT_NE(packed.begin, nullptr);
    for (const int i : {0, 1}) memset(windows.address(slots[i]), 'p', sizes[i]);
    size_t at = 0;
    for (const int i : {0, 1}) at += windows.unpack(packed, at, slots[i], sizes[i]);
    EXPECT_EQ(at, packed.size);
    for (const int i : {0, 1}) {
        const auto *bytes = static_cast<const char *>(windows.address(slots[i]));
        EXPECT_EQ(std::vector<char>(bytes, bytes + sizes[i]), std::vector<char>(sizes[i], 'b'));
        windows.release(slots[i], sizes[i]); // private now, but good for all that
    }
    ASSERT_EQ(windows.take(70'000, 0), slots[1]);
    EXPECT_EQ(static_cast<const char *>(windows.address(slots[1]))[69'999], 0);
}

TEST_F(WindowsTest, WhatIsProtectedIsCopiedAndUsableAgainOnceGivenBack) {
    constexpr size_t bytes = 8192;
    const uint32_t slot = windows.take(bytes, 0);
    auto *object = static_cast<char *>(windows.address(slot));
    strcpy(object, "before");
    ASSERT_EQ(mprotect(object, bytes, PROT_NONE), 0);
    windows.protect(object, bytes, PROT_NONE);
    char *copied = windows.copy([slot](auto copy) { copy(slot, bytes); });
    ASSERT_NE(copied, nullptr);
    ASSERT_TRUE(windows.install(copied));
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    EXPECT_EQ(write(ends[1], object, 1), -1); // protected there, too
    close(ends[0]);
    close(ends[1]);
    ASSERT_EQ(mprotect(object, bytes, PROT_READ), 0);
    EXPECT_STREQ(object, "before");
    windows.release(slot, bytes);
    ASSERT_EQ(windows.take(100, 0), slot);
    object[0] = 'a';
}

TEST_F(WindowsTest, NoMoreAddressesThanWereUsedAreKept) {
    const uint32_t slot = windows.take(10, 3);
    const uint32_t run = windows.take(size_t{1} << 20, 0);
    auto *object = static_cast<char *>(windows.address(slot));
    auto *large = static_cast<char *>(windows.address(run));
    windows.shrink();
    object[0] = large[0] = 'a';
    EXPECT_TRUE(windows.owns(object));
    EXPECT_TRUE(windows.owns(large));
    EXPECT_FALSE(windows.owns(large - 1));
    EXPECT_FALSE(windows.owns(large + (1 << 20)));
    windows.release(slot, 10);
    EXPECT_EQ(windows.take(10, 3), slot);
    EXPECT_EQ(windows.take(10, 3), Windows::kNone);
    EXPECT_EQ(windows.take(size_t{1} << 20, 0), Windows::kNone);
    EXPECT_EQ(windows.copy([](auto) {}), nullptr); // which would go over what others have there
}

TEST_F(WindowsTest, RunOutWithoutHarm) {
    EXPECT_EQ(windows.take(size_t{1} << 40, 0), Windows::kNone);
    EXPECT_NE(windows.take(size_t{1} << 30, 0), Windows::kNone);
}

} // namespace
