#include "reap/layer/region.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <vector>

#include "misuse_log.h"
#include "reap/testkit/failing_source.h"
#include "speaker.h"

namespace {

using reap::Misuse;
using reap::Region;
using reap::RegionOptions;
using Kinds = std::vector<Misuse>;

TEST(Region, KeepsWhatIsWritten) {
    Region region;
    std::vector<unsigned char *> objects;
    for (std::size_t size = 0; size < 2000; ++size) {
        auto *const object = static_cast<unsigned char *>(region.allocate(size));
        std::memset(object, static_cast<int>(size % 251), size);
        EXPECT_EQ(reap::padding_at(object, 16), 0U);
        objects.push_back(object);
    }
    for (std::size_t size = 0; size < 2000; ++size) {
        for (std::size_t at = 0; at < size; ++at) ASSERT_EQ(objects[size][at], size % 251);
    }
}

TEST(Region, AlignsAddresses) {
    Region<reap::CachedPages, 1> region;
    for (std::size_t alignment = 1; alignment <= std::size_t{2} << 20; alignment *= 2) {
        (void)region.allocate(1, 1);
        void *const object = region.allocate(3, alignment);
        EXPECT_EQ(reap::padding_at(object, alignment), 0U) << alignment;
        std::memset(object, 1, 3);
    }
}

TEST(Region, RefusesWhatCannotBe) {
    Region region;
    for (const std::size_t alignment : {0UL, 3UL, 24UL}) {
        EXPECT_EQ(region.try_allocate(8, alignment), nullptr);
        EXPECT_THROW((void)region.allocate(8, alignment), std::bad_alloc);
    }
    for (std::size_t below = 0; below <= 4096; ++below) {
        EXPECT_EQ(region.try_allocate(SIZE_MAX - below), nullptr);
        EXPECT_EQ(region.try_allocate(SIZE_MAX - below, 64), nullptr);
    }
    EXPECT_EQ(region.try_allocate(16, std::size_t{1} << 62U), nullptr);
    EXPECT_EQ(region.try_allocate(16, std::size_t{1} << 63U), nullptr);
    EXPECT_NE(region.try_allocate(16), nullptr);
}

TEST(Region, RunsDestructorsTheYoungestFirst) {
    std::string said;
    Region region;
    (void)region.create<Speaker>(said, 'a');
    (void)region.create<int>(3);
    (void)region.create<Speaker>(said, 'b');
    region.reset();
    EXPECT_EQ(said, "ba");
    region.reset();
    EXPECT_EQ(said, "ba");
}

// The short way to reset a region that has one chunk is not for one that has anything beside it.
TEST(Region, EndsWhatIsOlderThanItsFirstChunk) {
    struct Large : Speaker {
        using Speaker::Speaker;
        char room[std::size_t{1} << 20U];
    };
    std::string said;
    Region region;
    (void)region.create<Large>(said, 'l');
    (void)region.allocate(8);
    region.reset();
    EXPECT_EQ(said, "l");
    EXPECT_EQ(region.statistics().large_objects, 0U);
    (void)region.allocate(std::size_t{1} << 20U);
    region.reset(reap::keep_none);
    (void)region.allocate(std::size_t{1} << 20U);
    (void)region.allocate(8);
    region.reset();
    EXPECT_EQ(region.statistics().large_objects, 0U);
}

TEST(Region, LeavesNothingWhenAConstructorThrows) {
    struct Thrower {
        Thrower() { throw std::runtime_error("no"); }
        std::string text;
    };
    Region region;
    (void)region.allocate(8);
    const auto before = region.statistics();
    EXPECT_THROW((void)region.create<Thrower>(), std::runtime_error);
    EXPECT_EQ(region.statistics().used, before.used);
    region.reset();
}

TEST(Region, ResizesTheLastObjectInPlace) {
    Region region;
    (void)region.allocate(16);
    void *const last = region.allocate(16);
    EXPECT_TRUE(region.resize(last, 16, 4000));
    std::memset(last, 1, 4000);
    EXPECT_TRUE(region.resize(last, 4000, 20));
    EXPECT_FALSE(region.resize(last, 20, std::size_t{1} << 40U));
    EXPECT_FALSE(region.resize(last, 20, SIZE_MAX));
    (void)region.allocate(16);
    EXPECT_FALSE(region.resize(last, 20, 4000));
    EXPECT_TRUE(region.resize(last, 20, 10));
}

TEST(Region, TakesTheLastObjectBack) {
    Region region;
    void *const first = region.allocate(100);
    void *const second = region.allocate(100);
    region.deallocate(second, 100);
    EXPECT_EQ(region.allocate(100), second);
    region.deallocate(first, 100);
    EXPECT_NE(region.allocate(100), first);
    region.deallocate(nullptr, 100);
}

TEST(Region, RewindsAndRunsDestructors) {
    std::string said;
    Region region;
    (void)region.create<Speaker>(said, 'a');
    const auto mark = region.mark();
    void *const first = region.allocate(64);
    for (int round = 0; round < 3; ++round) {
        (void)region.create<Speaker>(said, 'b');
        for (int i = 0; i < 1000; ++i) (void)region.allocate(100);
        (void)region.allocate(1 << 20);
        EXPECT_TRUE(region.rewind(mark));
    }
    EXPECT_EQ(said, "bbb");
    EXPECT_EQ(region.allocate(64), first);
    EXPECT_EQ(region.statistics().large_objects, 0U);
}

TEST(Region, NoticesStaleMarks) {
    const MisuseLog log;
    Region region;
    Region other;
    const auto early = region.mark();
    const auto late = region.mark();
    EXPECT_TRUE(region.rewind(early));
    EXPECT_FALSE(region.rewind(late));
    const auto again = region.mark();
    EXPECT_FALSE(region.rewind(late));
    EXPECT_TRUE(region.rewind(again));
    EXPECT_FALSE(other.rewind(again));
    region.reset();
    EXPECT_FALSE(region.rewind(early));
    EXPECT_FALSE(region.rewind({}));
    EXPECT_EQ(MisuseLog::take(), Kinds(reap::checked ? 5 : 0, Misuse::stale_mark));
}

TEST(Region, NoticesAMarkOfARegionThatWasInTheSamePlace) {
    const MisuseLog log;
    Region<>::Mark former;
    {
        Region region;
        (void)region.mark();
        region.reset();
        former = region.mark();
    }
    Region region; // in the former's chunk, which was cached
    const auto mark = region.mark();
    EXPECT_FALSE(region.rewind(former));
    EXPECT_TRUE(region.rewind(mark));
    EXPECT_EQ(MisuseLog::take(), Kinds(reap::checked ? 1 : 0, Misuse::stale_mark));
}

TEST(Region, NoticesTheFirstMarkOfARegionThatWasInTheSamePlace) {
    const MisuseLog log;
    Region<>::Mark former;
    {
        Region region;
        former = region.mark();
    }
    Region region;
    const auto mark = region.mark();
    EXPECT_FALSE(region.rewind(former));
    EXPECT_TRUE(region.rewind(mark));
    EXPECT_EQ(MisuseLog::take(), Kinds(reap::checked ? 1 : 0, Misuse::stale_mark));
}

TEST(Region, KeepsAsMuchAsAsked) {
    Region region;
    for (int i = 0; i < 1000; ++i) (void)region.allocate(100);
    const auto before = region.statistics();
    region.reset();
    EXPECT_EQ(region.statistics().held, before.held);
    EXPECT_EQ(region.statistics().used, reap::round_up(16, 16));
    region.reset(30000);
    EXPECT_LE(region.statistics().held, 30000U);
    EXPECT_GT(region.statistics().held, 0U);
    region.reset(reap::keep_none);
    EXPECT_EQ(region.statistics().held, 0U);
    (void)region.allocate(8);
    EXPECT_EQ(region.statistics().held, 8192U);
}

TEST(Region, KeepsToItsLimit) {
    Region region(RegionOptions{.limit = 10000});
    while (region.try_allocate(100) != nullptr) {
    }
    EXPECT_GT(region.statistics().held, 8000U);
    EXPECT_LE(region.statistics().held, 10000U);
    EXPECT_THROW((void)region.allocate(100), std::bad_alloc);
    EXPECT_EQ(region.try_allocate(1 << 20), nullptr);
    region.reset();
    EXPECT_NE(region.try_allocate(100), nullptr);
}

TEST(Region, TakesTheLargestChunksWhereGrowthIsPastAllSizes) {
    Region region(RegionOptions{.growth = SIZE_MAX, .largest_chunk = std::size_t{64} << 10});
    for (int i = 0; i < 100; ++i) (void)region.allocate(1000);
    EXPECT_EQ(region.statistics().held, 8192 + 2 * (std::size_t{64} << 10));
}

TEST(Region, KeepsToItsLimitWhereItsSourceGivesMore) {
    Region region(RegionOptions{.limit = 10000}); // pages are given: 12288 bytes
    while (region.try_allocate(100) != nullptr) {
    }
    EXPECT_LE(region.statistics().held, 10000U);
}

TEST(Region, MeetsARequestWhereTheSourceHasNoMoreThanThat) {
    reap::testkit::FailingSource<> source;
    Region<reap::Ref<reap::testkit::FailingSource<>>, 1> region(source);
    for (std::size_t size = 10001; size < 10020; ++size) {
        source.fail_once(0); // the usual chunk
        EXPECT_NE(region.try_allocate(size, 4), nullptr) << size;
        region.reset(reap::keep_none);
    }
}

TEST(Region, RewindsToAMarkWhoseLastObjectWasFreed) {
    const MisuseLog log;
    Region region;
    void *const first = region.allocate(100);
    void *const second = region.allocate(100);
    const auto mark = region.mark();
    region.deallocate(second, 100);
    (void)region.allocate(100);
    EXPECT_TRUE(region.rewind(mark));
    region.deallocate(first, 100);
    EXPECT_EQ(MisuseLog::take(), Kinds{});
}

TEST(Region, ForwardsEachObjectWhereTheThresholdIsNone) {
    Region region(RegionOptions{.large_object = 0});
    std::vector<void *> objects(100);
    for (auto &object : objects) object = region.allocate(8);
    EXPECT_EQ(region.statistics().large_objects, 100U);
    const auto mark = region.mark();
    (void)region.allocate(8);
    EXPECT_TRUE(region.rewind(mark));
    EXPECT_EQ(region.statistics().large_objects, 101U);
    for (auto *object : objects) EXPECT_TRUE(region.owns(object));
    region.reset();
    EXPECT_EQ(region.statistics().held, 0U);
}

TEST(Region, NestsAndEndsItsChildrenWithItself) {
    std::string said;
    {
        Region parent;
        auto &child = parent.nest();
        auto &grandchild = child.nest();
        (void)grandchild.create<Speaker>(said, 'g');
        (void)child.create<Speaker>(said, 'c');
        (void)parent.create<Speaker>(said, 'p');
        child.reset(reap::keep_none);
        EXPECT_EQ(said, "cg");
        (void)child.create<Speaker>(said, 'C');
    }
    EXPECT_EQ(said, "cgpC");
}

TEST(Region, TakesOverAnother) {
    std::string said;
    Region mine;
    (void)mine.create<Speaker>(said, 'm');
    const auto mark = mine.mark();
    unsigned char *object = nullptr;
    {
        Region other;
        (void)other.create<Speaker>(said, 'o');
        object = static_cast<unsigned char *>(other.allocate(1000));
        std::memset(object, 7, 1000);
        (void)other.allocate(1 << 20);
        mine.splice(other);
        mine.splice(other); // which has nothing now
        mine.splice(mine);
        EXPECT_EQ(other.statistics().held, 0U);
        (void)other.allocate(8);
    }
    EXPECT_EQ(said, "");
    EXPECT_EQ(object[999], 7);
    EXPECT_TRUE(mine.owns(object));
    EXPECT_TRUE(mine.rewind(mark));
    EXPECT_EQ(said, "o");
    EXPECT_FALSE(mine.owns(object));
    mine.reset();
    EXPECT_EQ(said, "om");
}

TEST(Region, StandsOnAnyRegionOrSource) {
    reap::ChunkCache<> cache;
    Region outer{cache};
    static_assert(std::is_same_v<decltype(outer), Region<reap::Ref<reap::ChunkCache<>>>>);
    Region<reap::Ref<decltype(outer)>> inner{outer};
    void *const object = inner.allocate(100);
    EXPECT_TRUE(inner.owns(object));
    EXPECT_TRUE(outer.owns(object));
}

TEST(CheckedRegion, FindsMisuse) {
    if (!reap::checked) GTEST_SKIP() << "only in checked mode";
    const MisuseLog log;
    Region region;
    auto *const object = static_cast<unsigned char *>(region.allocate(40));
    (void)region.allocate(40);
    region.deallocate(object, 41);
    EXPECT_FALSE(region.resize(object, 41, 20));
    EXPECT_EQ(MisuseLog::take(), Kinds(2, Misuse::wrong_size));
    region.deallocate(object, 40);
    region.deallocate(object, 40);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::double_free});
    int stranger = 0;
    region.deallocate(&stranger, 4);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::foreign_free});

    const auto mark = region.mark();
    auto *const second = static_cast<unsigned char *>(region.allocate(40));
    write_anyway(second + 40, 1);
    EXPECT_TRUE(region.rewind(mark));
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::overflow});
    write_anyway(second, 1);
    (void)region.allocate(40);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::use_after_rewind});
    region.reset();
    write_anyway(second, 1);
    (void)region.allocate(400);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::use_after_reset});
}

} // namespace
