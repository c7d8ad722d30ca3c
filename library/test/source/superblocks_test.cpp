#include "reap/source/superblocks.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <gtest/gtest.h>
#include <thread>
#include <utility>
#include <vector>

#include "reap/source/cached_superblocks.h"
#include "reap/testkit/operation.h"
#include "strict_source.h"

namespace {

constexpr std::size_t window = std::size_t{128} << 10;
constexpr std::size_t usual = reap::usual_window;
template <std::size_t Window>
using Blocks = reap::Superblocks<reap::Ref<StrictSource>, Window>;
constexpr auto may_fail = reap::Failure::returns_null;

TEST(Superblocks, HandsOutEveryByteButTheShadow) {
    StrictSource source;
    Blocks<usual> blocks{source};
    std::vector<void *> chunks;
    for (std::size_t left = usual - usual / 16; left > 0; left -= 8192)
        chunks.push_back(blocks.try_allocate(8192, 8));
    EXPECT_EQ(source.bytes(), usual);
    for (void *const chunk : chunks) {
        EXPECT_EQ(reap::padding_at(chunk, 8192), 0U);
        EXPECT_GE(reinterpret_cast<std::uintptr_t>(chunk) % usual, usual / 16);
        std::memset(chunk, 1, 8192);
    }
    for (void *const chunk : chunks) blocks.deallocate(chunk, 8192, 8);
    // All merged: the largest is there again.
    void *const largest = blocks.try_allocate(usual / 2, 8);
    EXPECT_EQ(source.bytes(), usual);
    blocks.deallocate(largest, usual / 2, 8);
}

TEST(Superblocks, TakesWhatIsThereBeforeItAsksForMore) {
    StrictSource source;
    Blocks<usual> blocks{source};
    std::vector<std::size_t> sizes;
    std::vector<reap::Allocation> chunks;
    for (int number = 0; number < 4; ++number) {
        chunks.push_back(blocks.obtain_chunk<may_fail>(8192, usual));
        sizes.push_back(chunks.back().size);
    }
    EXPECT_EQ(sizes, (std::vector<std::size_t>{usual / 2, usual / 4, usual / 8, usual / 16}));
    EXPECT_EQ(source.blocks(), 1U);
    for (const auto &chunk : chunks) blocks.deallocate(chunk.data, chunk.size, 8);
}

TEST(Superblocks, KnowWhetherThereIsAChunk) {
    StrictSource source;
    Blocks<usual> blocks{source};
    EXPECT_FALSE(blocks.has_chunk(1));
    // Out of the largest.
    const auto first = blocks.obtain_chunk<may_fail>(8192, 8192);
    EXPECT_TRUE(blocks.has_chunk(8192));
    EXPECT_TRUE(blocks.has_chunk(usual / 4));
    EXPECT_FALSE(blocks.has_chunk(usual / 4 + 1));
    blocks.deallocate(first.data, first.size, 8);
    EXPECT_TRUE(blocks.has_chunk(usual / 2));
    EXPECT_EQ(source.calls(), 1U);
}

TEST(Superblocks, HaveRoomForTheUserOfEachGroup) {
    StrictSource source;
    Blocks<usual> blocks{source};
    for (const std::size_t size : {std::size_t{8192}, std::size_t{65536}, usual / 2}) {
        const auto chunk = blocks.obtain_chunk<may_fail>(size, size);
        std::vector<void *> spaces;
        Blocks<usual>::begin_groups(chunk, [&](void *room) {
            std::memset(room, 0xff, 16);
            spaces.push_back(room);
        });
        const std::size_t group = std::min(size, Blocks<usual>::largest_group);
        ASSERT_EQ(spaces.size(), size / group);
        for (std::size_t at = 0; at < size; at += 1024)
            EXPECT_EQ(Blocks<usual>::room_for(static_cast<std::byte *>(chunk.data) + at), spaces[at / group]);
        blocks.deallocate(chunk.data, chunk.size, 8);
    }
    // All merged, whatever was written there.
    const auto largest = blocks.obtain_chunk<may_fail>(usual / 2, usual / 2);
    EXPECT_EQ(source.bytes(), usual);
    blocks.deallocate(largest.data, largest.size, 8);
}

TEST(Superblocks, GivesBackWhatIsEmptyButForOne) {
    StrictSource source;
    Blocks<window> blocks{source};
    std::vector<void *> chunks(8);
    for (auto &chunk : chunks) chunk = blocks.try_allocate(window / 2, 8);
    EXPECT_EQ(source.blocks(), 8U);
    for (void *const chunk : chunks) blocks.deallocate(chunk, window / 2, 8);
    EXPECT_EQ(source.blocks(), 1U);
    EXPECT_EQ(blocks.held(), window);
    blocks.trim();
    EXPECT_EQ(source.blocks(), 0U);
}

TEST(Superblocks, PassesLargeRequestsOn) {
    StrictSource source;
    Blocks<window> blocks{source};
    void *const large = blocks.try_allocate(window, 8);
    void *const aligned = blocks.try_allocate(100, window);
    EXPECT_EQ(source.blocks(), 2U);
    blocks.deallocate(large, window, 8);
    blocks.deallocate(aligned, 100, window);
    source.fail_after(0);
    EXPECT_EQ(blocks.try_allocate(8192, 8), nullptr);
    EXPECT_THROW((void)blocks.allocate(8192, 8), StrictFailure);
    EXPECT_EQ(blocks.try_allocate(8192, 3), nullptr);
}

TEST(Superblocks, StaysWholeInAnyOrder) {
    StrictSource source;
    Blocks<window> blocks{source};
    reap::testkit::Random random(1);
    std::vector<reap::Allocation> chunks;
    for (int turn = 0; turn < 5000; ++turn) {
        if (chunks.size() < 40 && random.below(2) == 0) {
            chunks.push_back(blocks.obtain_chunk<may_fail>(std::size_t{8192} << random.below(4), 8192));
            std::memset(chunks.back().data, static_cast<int>(chunks.size()), chunks.back().size);
        } else if (!chunks.empty()) {
            std::swap(chunks[random.below(chunks.size())], chunks.back());
            blocks.deallocate(chunks.back().data, chunks.back().size, 8);
            chunks.pop_back();
        }
    }
    for (const auto &chunk : chunks) blocks.deallocate(chunk.data, chunk.size, 8);
    EXPECT_EQ(source.blocks(), 1U);
}

TEST(CachedSuperblocks, ComeBackInAnotherThread) {
    const std::size_t before = reap::SharedSuperblocks::held();
    std::vector<std::thread> threads(4);
    for (auto &thread : threads) {
        thread = std::thread([] {
            std::vector<reap::Allocation> chunks(100);
            for (auto &chunk : chunks) chunk = reap::CachedSuperblocks::obtain_chunk<may_fail>(8192, 65536);
            std::thread([&chunks] {
                for (const auto &chunk : chunks)
                    reap::CachedSuperblocks::deallocate(chunk.data, chunk.size, 4096);
            }).join();
        });
    }
    for (auto &thread : threads) thread.join();
    reap::SharedSuperblocks::trim();
    EXPECT_LE(reap::SharedSuperblocks::held(), before + usual);
}

TEST(Superblocks, RefuseWhatIsNoAlignment) {
    reap::Superblocks<> blocks;
    EXPECT_EQ(blocks.try_allocate(8192, 3), nullptr);
    EXPECT_EQ(reap::CachedSuperblocks::try_allocate(8192, 3), nullptr);
}

TEST(Superblocks, ResizeNoChunk) {
    reap::Superblocks<> blocks;
    void *const chunk = blocks.try_allocate(8192, 8);
    ASSERT_NE(chunk, nullptr);
    EXPECT_EQ(blocks.try_resize(chunk, 8192, 16384, 8), nullptr);
    EXPECT_EQ(blocks.try_resize(chunk, 8192, 2 * usual, 8), nullptr);
    blocks.deallocate(chunk, 8192, 8);
}

TEST(CachedSuperblocks, PassesLargeRequestsOn) {
    void *const data = reap::CachedSuperblocks::try_allocate(usual, 4096);
    ASSERT_NE(data, nullptr);
    std::memset(data, 1, usual);
    reap::CachedSuperblocks::deallocate(data, usual, 4096);
}

} // namespace
