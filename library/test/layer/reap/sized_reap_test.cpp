#include <cstddef>
#include <cstring>
#include <gtest/gtest.h>
#include <list>
#include <memory_resource>
#include <vector>

#include "misuse_log.h"
#include "reap/face/allocator.h"
#include "reap/face/pmr.h"
#include "reap/layer/reap.h"
#include "strict_source.h"

// What is told apart from other reaps: the rest is in the reference model, as SizedReap and
// SizedReap/small-chunks.

namespace {

using reap::Misuse;
using reap::SizedReap;
using Kinds = std::vector<Misuse>;

/// Superblocks as small as can be, so that little is a lot.
template <class Source>
using SmallSizedReap = SizedReap<reap::Ref<Source>, (std::size_t{128} << 10)>;

// Who does not keep sizes cannot be asked for them.
template <class R>
concept KnowsSizes = requires(R reap, void *object) {
    reap.deallocate(object);
    reap.usable_size(object);
    reap.reallocate(object, 1);
    reap.for_each([](void *, std::size_t) {});
};
static_assert(KnowsSizes<reap::Reap<>> && !KnowsSizes<SizedReap<>>);

struct Object {
    unsigned char *data;
    std::size_t size;
    std::size_t alignment;
};

void *make(SizedReap<> &reap, std::size_t size) {
    void *const object = reap.allocate(size);
    std::memset(object, 1, size);
    return object;
}

TEST(SizedReap, TakesNoMoreThanARegionWhileNothingIsFreed) {
    if constexpr (reap::checked) GTEST_SKIP() << "guards take more";
    SizedReap<> reap;
    auto *const first = static_cast<std::byte *>(reap.allocate(1));
    EXPECT_EQ(reap.allocate(16), first + 16);
    EXPECT_EQ(reap.allocate(17), first + 32);
    EXPECT_EQ(reap.allocate(0), first + 64);
    EXPECT_EQ(reap.allocate(1), first + 80);
}

TEST(SizedReap, UsesAgainWhatWasFreedBehindChunksThatItLeft) {
    SizedReap<> reap;
    // Chunks are left with room at their ends, before there are marks.
    std::vector<Object> objects;
    for (std::size_t size = 100; size < 30000; size += 700)
        objects.push_back({static_cast<unsigned char *>(make(reap, size)), size, 16});
    EXPECT_TRUE(reap.check());
    const std::size_t held = reap.statistics().held;
    for (const Object &object : objects) reap.deallocate(object.data, object.size);
    EXPECT_TRUE(reap.check());
    for (const Object &object : objects) (void)make(reap, object.size);
    EXPECT_TRUE(reap.check());
    EXPECT_LE(reap.statistics().held, held + held / 4);
}

TEST(SizedReap, MergesNeighboursForObjectsOfAnotherSize) {
    SizedReap<> reap;
    for (std::size_t size = 24; size < 2000; size += 100) {
        std::vector<void *> objects((std::size_t{1} << 20) / size);
        for (auto &object : objects) object = reap.allocate(size);
        for (std::size_t at = 0; at < objects.size(); at += 2) reap.deallocate(objects[at], size);
        for (std::size_t at = 1; at < objects.size(); at += 2) reap.deallocate(objects[at], size);
    }
    // Twenty phases of 1 MB.
    EXPECT_LT(reap.statistics().held, std::size_t{4} << 20);
    EXPECT_TRUE(reap.check());
}

TEST(SizedReap, FreesLargeObjectsWhereverTheyAre) {
    reap::ReapOptions options;
    options.large_object = 8192;
    options.first_chunk = std::size_t{64} << 10;
    StrictSource source;
    SmallSizedReap<StrictSource> reap{reap::Ref(source), options};
    void *const inside = reap.allocate(20000); // there is room in the chunk, once there is one
    void *const within = reap.allocate(20000);
    void *const apart = reap.allocate(200000);
    void *const aligned = reap.allocate(64, std::size_t{64} << 10);
    const std::size_t held = reap.statistics().held;
    EXPECT_GE(reap.statistics().large_objects, 2U);
    reap.deallocate(apart, 200000);
    reap.deallocate(aligned, 64, std::size_t{64} << 10);
    EXPECT_LT(reap.statistics().held, held - 200000);
    reap.deallocate(inside, 20000);
    reap.deallocate(within, 20000);
    EXPECT_EQ(reap.statistics().live, 0U);
    EXPECT_EQ(reap.statistics().large_objects, 0U);
    EXPECT_TRUE(reap.check());
}

TEST(SizedReap, ResizesWhereItStands) {
    if constexpr (reap::checked) GTEST_SKIP() << "checked mode moves";
    SizedReap<> reap;
    void *const before = make(reap, 100);
    void *const last = make(reap, 100);
    EXPECT_TRUE(reap.resize(last, 100, 3000));
    EXPECT_FALSE(reap.resize(before, 100, 3000));
    EXPECT_TRUE(reap.resize(last, 3000, 20));
    EXPECT_EQ(reap.allocate(1), static_cast<std::byte *>(last) + 32);
    EXPECT_TRUE(reap.resize(before, 100, 30)); // 80 B are free now
    EXPECT_EQ(reap.statistics().free - reap.statistics().largest_hole, 80U);
    EXPECT_FALSE(reap.resize(before, 30, SIZE_MAX));
    EXPECT_TRUE(reap.check());
}

TEST(SizedReap, RewindsAfterFreesBehindTheMark) {
    SizedReap<> reap;
    void *const older = make(reap, 200);
    (void)make(reap, 50);
    const auto mark = reap.mark();
    for (int turn = 0; turn < 3; ++turn) {
        std::vector<void *> objects(2000);
        for (auto &object : objects) object = make(reap, 64);
        for (std::size_t at = 0; at < objects.size(); at += 3) reap.deallocate(objects[at], 64);
        if (turn == 1) reap.deallocate(older, 200);
        EXPECT_TRUE(reap.check());
        EXPECT_TRUE(reap.rewind(mark));
        EXPECT_TRUE(reap.check());
    }
    EXPECT_GE(reap.statistics().free, 200U);
}

TEST(SizedReap, ServesContainers) {
    SizedReap<> reap;
    std::list<int, reap::StlAllocator<int, SizedReap<>>> numbers(reap);
    for (int i = 0; i < 10000; ++i) {
        numbers.push_back(i);
        if (numbers.size() > 10) numbers.pop_front();
    }
    EXPECT_LT(reap.statistics().held, std::size_t{64} << 10);

    reap::PmrResource<SizedReap<>> resource;
    {
        std::pmr::list<std::pmr::string> queue(&resource);
        for (int i = 0; i < 10000; ++i) {
            queue.emplace_back("long enough to have memory of its own");
            if (queue.size() > 100) queue.pop_front();
        }
    }
    EXPECT_EQ(resource.layer().statistics().live, 0U);
    EXPECT_TRUE(resource.layer().check());
}

TEST(CheckedSizedReap, FindsMisuse) {
    if constexpr (!reap::checked) GTEST_SKIP() << "in checked mode only";
    const MisuseLog log;
    SizedReap<> reap;
    void *const object = reap.allocate(40);
    reap.deallocate(object, 48);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::wrong_size});
    auto *const other = static_cast<std::byte *>(reap.allocate(100));
    reap.deallocate(other + 16, 84);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::interior_free});
    reap.deallocate(object, 40);
    reap.deallocate(object, 40);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::double_free});
}

} // namespace
