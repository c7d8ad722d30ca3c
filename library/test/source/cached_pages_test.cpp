#include "reap/source/cached_pages.h"

#include <cstddef>
#include <cstring>
#include <gtest/gtest.h>
#include <thread>

#include "reap/source/chunk_cache.h"
#include "reap/source/system_pages.h"

namespace {

TEST(SystemPages, AreAlignedRoundedAndZeroed) {
    for (std::size_t alignment = 1; alignment <= std::size_t{2} << 20; alignment *= 2) {
        const auto got = reap::SystemPages::try_allocate_at_least(5000, alignment);
        ASSERT_NE(got.data, nullptr);
        EXPECT_EQ(got.size, 8192U);
        EXPECT_EQ(reap::padding_at(got.data, alignment), 0U);
        EXPECT_EQ(static_cast<unsigned char *>(got.data)[got.size - 1], 0);
        std::memset(got.data, 1, got.size);
        reap::SystemPages::deallocate(got.data, 5000, alignment);
    }
}

TEST(SystemPages, RefuseWhatCannotBe) {
    EXPECT_EQ(reap::SystemPages::try_allocate(SIZE_MAX, 16), nullptr);
    EXPECT_EQ(reap::SystemPages::try_allocate(reap::max_object - 16384, 16), nullptr);
    EXPECT_EQ(reap::SystemPages::try_allocate(1, 0), nullptr);
    EXPECT_EQ(reap::SystemPages::try_allocate(1, 24), nullptr);
    EXPECT_EQ(reap::SystemPages::try_allocate(1, std::size_t{1} << 63U), nullptr);
}

TEST(ChunkCache, HandsOutWhatCameBackLast) {
    reap::ChunkCache<> cache;
    void *const first = cache.try_allocate(8192, 16);
    void *const second = cache.try_allocate(8192, 16);
    cache.deallocate(first, 8192, 16);
    cache.deallocate(second, 5000, 16);
    EXPECT_EQ(cache.held(), 16384U);
    EXPECT_EQ(cache.try_allocate(4000, 16), second);
    EXPECT_EQ(cache.try_allocate(8192, 16), first);
    EXPECT_EQ(cache.held(), 0U);
    cache.deallocate(first, 8192, 16);
    cache.deallocate(second, 8192, 16);
}

TEST(ChunkCache, KeepsNoMoreThanItsCapacity) {
    reap::ChunkCache<> cache(std::size_t{20000} * 8); // of each of the eight powers an eighth
    void *chunks[3];
    for (auto &chunk : chunks) chunk = cache.try_allocate(8192, 16);
    for (auto *chunk : chunks) cache.deallocate(chunk, 8192, 16);
    EXPECT_EQ(cache.held(), 16384U);
    cache.trim();
    EXPECT_EQ(cache.held(), 0U);
}

TEST(ChunkCache, RoundsToPowersOfTwoAndLetsTheRestThrough) {
    reap::ChunkCache<> cache;
    for (const std::size_t size : {0UL, 1UL, 8192UL, 8193UL, 100000UL, 1UL << 20U, (1UL << 20U) + 1}) {
        const auto got = cache.try_allocate_at_least(size, 16);
        ASSERT_NE(got.data, nullptr);
        EXPECT_GE(got.size, size);
        std::memset(got.data, 1, got.size);
        cache.deallocate(got.data, size, 16);
        EXPECT_EQ(cache.held() >= got.size, size <= 1UL << 20U);
        cache.trim();
    }
    void *const aligned = cache.try_allocate(100, 1U << 21U);
    EXPECT_EQ(reap::padding_at(aligned, 1U << 21U), 0U);
    cache.deallocate(aligned, 100, 1U << 21U);
    EXPECT_EQ(cache.held(), 0U);
    for (const std::size_t none : {0UL, 3UL, 24UL, 4095UL}) EXPECT_EQ(cache.try_allocate(100, none), nullptr);
    EXPECT_EQ(cache.try_allocate(SIZE_MAX, 16), nullptr);
}

TEST(CachedPages, MayComeBackInAnotherThread) {
    reap::CachedPages::trim();
    void *const chunk = reap::CachedPages::try_allocate(8192, 16);
    std::thread([chunk] {
        reap::CachedPages::deallocate(chunk, 8192, 16);
        EXPECT_EQ(reap::CachedPages::held(), 8192U);
    }).join();
    EXPECT_EQ(reap::CachedPages::held(), 0U);
}

/// Gives memory back when its thread ends, after the thread's cache did.
struct Late {
    void *chunk = nullptr;
    ~Late() {
        reap::CachedPages::deallocate(chunk, 8192, 16);
        EXPECT_EQ(reap::CachedPages::held(), 0U);
    }
};

TEST(CachedPages, AreGivenBackWithTheirThread) {
    std::thread([] {
        thread_local Late late;
        late.chunk = reap::CachedPages::try_allocate(8192, 16);
        reap::CachedPages::deallocate(reap::CachedPages::try_allocate(8192, 16), 8192, 16);
        EXPECT_EQ(reap::CachedPages::held(), 8192U);
    }).join();
}

} // namespace
