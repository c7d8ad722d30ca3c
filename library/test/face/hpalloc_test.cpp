#include "reap/face/hpalloc.hpp"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <gtest/gtest.h>
#include <set>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "misuse_log.h"
#include "sandbox.h"
#include "watched.h"

namespace {

using reap::Misuse;
using Kinds = std::vector<Misuse>;

// A program as hpalloc's README has it.
TEST(Hpalloc, RunsWhatWasWrittenForIt) {
    Arena arena(1 << 20);
    EXPECT_EQ(arena.page_size(), 4096U);
    EXPECT_EQ(arena.total_pages(), 256U);
    EXPECT_EQ(arena.pages_allocated(), 0U);
    char *last = nullptr;
    for (int i = 0; i < 3; ++i) {
        char *page = static_cast<char *>(arena.alloc_page());
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(page) % 4096, 0U);
        EXPECT_TRUE(last == nullptr || page == last + 4096);
        std::memset(page, 1, 4096);
        last = page;
    }
    EXPECT_EQ(arena.pages_allocated(), 3U);

    Fixed_Block blocks(arena);
    void *block = blocks.allocate();
    std::memset(block, 1, 64);
    blocks.deallocate(block);
    blocks.deallocate(nullptr);
    EXPECT_EQ(blocks.allocate(), block);

    SizeClassAllocator allocator;
    size_t actual = 0;
    void *ptr = allocator.allocate(33, actual);
    EXPECT_EQ(actual, 64U);
    std::memset(ptr, 1, actual);
    allocator.deallocate(ptr, actual);
}

TEST(Hpalloc, ThrowsOnABadArenaSize) {
    for (const std::size_t size :
         std::vector<std::size_t>{0, 1, 4095, 4097, (256U << 20U) + 4096, SIZE_MAX, SIZE_MAX - 4095}) {
        EXPECT_THROW(Arena{size}, std::invalid_argument) << size;
        EXPECT_THROW(SizeClassAllocator{size}, std::invalid_argument) << size;
    }
    EXPECT_NO_THROW(Arena{4096});
    EXPECT_NO_THROW(Arena{256U << 20U});
}

TEST(Hpalloc, ThrowsOnABadBlockSize) {
    Arena arena(1 << 20);
    for (const std::size_t size : std::vector<std::size_t>{0, 1, 4, 7, 12, 65, SIZE_MAX, SIZE_MAX - 7})
        EXPECT_THROW(Fixed_Block(arena, size), std::invalid_argument) << size;
    for (const std::size_t size : std::vector<std::size_t>{8, 16, 24, 64, 1000, 4096})
        EXPECT_NO_THROW(Fixed_Block(arena, size));
}

TEST(Hpalloc, ThrowsAbove256Bytes) {
    SizeClassAllocator allocator;
    std::size_t actual = 7;
    EXPECT_THROW(allocator.allocate(257, actual), std::invalid_argument);
    EXPECT_THROW(allocator.allocate(SIZE_MAX, actual), std::invalid_argument);
    EXPECT_EQ(actual, 7U);
    for (std::size_t size = 0; size <= 256; ++size) {
        void *const block = allocator.allocate(size, actual);
        EXPECT_EQ(actual, size <= 32 ? 32U : size <= 64 ? 64U : size <= 128 ? 128U : 256U);
        std::memset(block, 1, actual);
        allocator.deallocate(block, actual);
    }
    allocator.deallocate(nullptr, 32);
}

TEST(Hpalloc, ReturnsNullWhenExhaustedAtEveryLevel) {
    Arena arena(16384);
    std::size_t pages = 0;
    while (arena.alloc_page() != nullptr) ++pages;
    EXPECT_EQ(pages, 4U);
    Fixed_Block none(arena, 64);
    EXPECT_EQ(none.allocate(), nullptr);

    Arena other(16384);
    Fixed_Block blocks(other, 64);
    std::vector<void *> all;
    while (void *const block = blocks.allocate()) {
        std::memset(block, 1, 64);
        all.push_back(block);
    }
    EXPECT_TRUE(reap::checked || all.size() == 256U);
    EXPECT_EQ(blocks.allocate(), nullptr);
    blocks.deallocate(all[5]);
    EXPECT_EQ(blocks.allocate(), all[5]);
    EXPECT_EQ(blocks.allocate(), nullptr);
    EXPECT_EQ(std::set<void *>(all.begin(), all.end()).size(), all.size());

    SizeClassAllocator allocator(8192);
    for (const std::size_t size : std::vector<std::size_t>{32, 64, 128, 256}) {
        std::size_t actual = 0;
        std::size_t count = 0;
        while (allocator.allocate(size, actual) != nullptr) ++count;
        EXPECT_TRUE(reap::checked || count == 8192 / size);
        EXPECT_EQ(actual, size);
    }
}

// Its benchmark asks for ten million blocks, and times as many calls: all but so many return null.
TEST(HpallocFault, ItsBenchmarkHasOnly16384Blocks) {
    if (reap::checked) GTEST_SKIP() << "guards take room in checked mode";
    SizeClassAllocator allocator;
    std::size_t actual = 0;
    std::size_t count = 0;
    for (int i = 0; i < 100000; ++i) count += allocator.allocate(64, actual) != nullptr ? 1 : 0;
    EXPECT_EQ(count, 16384U);
}

TEST(HpallocFault, ADoubleFreeHandsTheSameBlockOutTwice) {
    if (!reap::checked) GTEST_SKIP() << "only in checked mode";
    const MisuseLog log;
    Arena arena(1 << 20);
    Fixed_Block blocks(arena, 64);
    void *const block = blocks.allocate();
    blocks.deallocate(block);
    blocks.deallocate(block);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::double_free});
    EXPECT_NE(blocks.allocate(), blocks.allocate());
}

TEST(HpallocFault, ABlockOf8192BytesBurnsPagesAndReturnsNull) {
    Arena arena(1 << 20);
    EXPECT_THROW(Fixed_Block(arena, 8192), std::invalid_argument);
    EXPECT_EQ(arena.pages_allocated(), 0U);
}

TEST(HpallocFault, ACopiedArenaIsUnmappedTwice) {
    static_assert(!std::is_copy_constructible_v<Arena> && !std::is_copy_assignable_v<Arena> &&
                  !std::is_move_constructible_v<Arena> && !std::is_move_assignable_v<Arena>);
    static_assert(!std::is_copy_constructible_v<Fixed_Block> && !std::is_move_constructible_v<Fixed_Block>);
    static_assert(!std::is_copy_constructible_v<SizeClassAllocator> &&
                  !std::is_move_constructible_v<SizeClassAllocator>);
}

// Checked mode keeps a table of the pages, in memory of its own.
TEST(CheckedHpalloc, ReturnsNullWhereItHasNoMemoryToCheckWith) {
    if (!reap::checked || is_watched()) GTEST_SKIP() << "only in checked mode, and tools need memory as well";
    Arena arena(1 << 20);
    Fixed_Block blocks(arena);
    const void *block = &arena;
    if (!where_refused(SYS_mmap, ENOMEM, [&] { block = blocks.allocate(); })) GTEST_SKIP() << "no seccomp";
    EXPECT_EQ(block, nullptr);
    EXPECT_NE(blocks.allocate(), nullptr);
}

TEST(CheckedHpalloc, FindsMisuse) {
    if (!reap::checked) GTEST_SKIP() << "only in checked mode";
    const MisuseLog log;
    Arena arena(1 << 20);
    for (const std::size_t size : std::vector<std::size_t>{8, 64, 1000, 4096}) {
        Fixed_Block blocks(arena, size);
        Fixed_Block others(arena, size);
        auto *const block = static_cast<unsigned char *>(blocks.allocate());
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % (size & (0 - size)), 0U);
        std::memset(block, 1, size);
        others.deallocate(block);
        blocks.deallocate(block + 16);
        EXPECT_EQ(MisuseLog::take(), Kinds(2, Misuse::foreign_free));
        write_anyway(block + size, 1);
        blocks.deallocate(block);
        EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::overflow});
        write_anyway(block + size, 0xA9);
        write_anyway(block - 1, 1);
        blocks.deallocate(block);
        EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::underflow});
        write_anyway(block - 1, 0xA6);
        blocks.deallocate(block);
        write_anyway(block + 7, 1);
        EXPECT_EQ(blocks.allocate(), block);
        EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::use_after_free});
    }
    SizeClassAllocator allocator;
    std::size_t actual = 0;
    void *const block = allocator.allocate(40, actual);
    allocator.deallocate(block, 32);
    allocator.deallocate(block, 40);
    allocator.deallocate(block, 300);
    EXPECT_EQ(MisuseLog::take(), Kinds(3, Misuse::wrong_size));
    alignas(64) static unsigned char stranger[256];
    allocator.deallocate(stranger + 128, 64);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::foreign_free});
    allocator.deallocate(block, actual);
    EXPECT_EQ(MisuseLog::take(), Kinds{});
}

} // namespace
