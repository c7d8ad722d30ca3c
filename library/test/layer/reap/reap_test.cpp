#include "reap/layer/reap.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <new>
#include <set>
#include <stdexcept>
#include <vector>

#include "layer/reap/small_reap.h"
#include "misuse_log.h"
#include "reap/testkit/operation.h"
#include "strict_source.h"

namespace {

using reap::Misuse;
using reap::Reap;
using Kinds = std::vector<Misuse>;

TEST(Reap, KeepsWhatIsWrittenWhileOthersComeAndGo) {
    Reap reap;
    reap::testkit::Random random(1);
    struct Object {
        unsigned char *data;
        std::size_t size;
        unsigned char value;
    };
    std::vector<Object> objects;
    for (int turn = 0; turn < 20000; ++turn) {
        if (objects.size() > 500 || (random.below(3) == 0 && !objects.empty())) {
            std::swap(objects[random.below(objects.size())], objects.back());
            const Object gone = objects.back();
            objects.pop_back();
            ASSERT_TRUE(std::all_of(gone.data, gone.data + gone.size,
                                    [&](unsigned char byte) { return byte == gone.value; }));
            if (turn % 2 == 0)
                reap.deallocate(gone.data);
            else
                reap.deallocate(gone.data, gone.size);
        } else {
            const std::size_t size = 1 + random.below(random.below(10) == 0 ? 40000 : 300);
            auto *const data = static_cast<unsigned char *>(reap.allocate(size));
            const auto value = static_cast<unsigned char>(turn);
            fill(data, value, size);
            objects.push_back({data, size, value});
        }
        if (turn % 1000 == 0) {
            ASSERT_TRUE(reap.check());
        }
    }
    EXPECT_TRUE(reap.check());
}

TEST(Reap, UsesAgainWhatWasFreed) {
    Reap reap;
    std::vector<void *> objects(10000);
    for (auto &object : objects) object = reap.allocate(40);
    const std::size_t held = reap.statistics().held;
    for (int turn = 0; turn < 10; ++turn) {
        for (auto &object : objects) reap.deallocate(object);
        for (auto &object : objects) object = reap.allocate(40);
    }
    EXPECT_LE(reap.statistics().held, held + held / 4);
}

TEST(Reap, MergesNeighboursForObjectsOfAnotherSize) {
    Reap reap;
    for (std::size_t size = 24; size < 2000; size += 100) {
        std::vector<void *> objects((std::size_t{1} << 20) / size);
        for (auto &object : objects) object = reap.allocate(size);
        // Every other one first: none has a free neighbour then.
        for (std::size_t at = 0; at < objects.size(); at += 2) reap.deallocate(objects[at]);
        for (std::size_t at = 1; at < objects.size(); at += 2) reap.deallocate(objects[at]);
    }
    // Twenty phases of 1 MB.
    EXPECT_LT(reap.statistics().held, std::size_t{4} << 20);
    EXPECT_TRUE(reap.check());
}

TEST(Reap, TakesBackTheLastObjectAtOnce) {
    if (reap::hardened) GTEST_SKIP() << "what is freed waits in quarantine";
    Reap reap;
    (void)reap.allocate(100);
    void *const object = reap.allocate(100);
    reap.deallocate(object);
    EXPECT_EQ(reap.allocate(50), object);
}

TEST(Reap, AlignsAddresses) {
    Reap reap;
    for (std::size_t alignment = 1; alignment <= std::size_t{2} << 20; alignment *= 2) {
        (void)reap.allocate(1, 1);
        void *const object = reap.allocate(3, alignment);
        EXPECT_EQ(reap::padding_at(object, alignment), 0U) << alignment;
        fill(object, 1, 3);
        if (alignment % 3 == 1) reap.deallocate(object, 3, alignment);
    }
    EXPECT_TRUE(reap.check());
    EXPECT_EQ(reap.try_allocate(1, Reap<>::largest_alignment * 2), nullptr);
}

TEST(Reap, RefusesWhatCannotBe) {
    Reap reap;
    for (const std::size_t alignment : {0UL, 3UL, 24UL}) {
        EXPECT_EQ(reap.try_allocate(8, alignment), nullptr);
        EXPECT_THROW((void)reap.allocate(8, alignment), std::bad_alloc);
    }
    for (std::size_t below = 0; below <= 4096; ++below) {
        EXPECT_EQ(reap.try_allocate(SIZE_MAX - below), nullptr);
        EXPECT_EQ(reap.try_allocate(SIZE_MAX - below, 64), nullptr);
    }
    EXPECT_NE(reap.try_allocate(16), nullptr);
}

TEST(Reap, SaysHowMuchOfAnObjectMayBeUsed) {
    Reap reap;
    for (const std::size_t size : {0UL, 1UL, 16UL, 17UL, 1016UL, 1017UL, 5000UL, 3000000UL}) {
        const auto got = reap.try_allocate_at_least(size);
        ASSERT_NE(got.data, nullptr);
        EXPECT_GE(got.size, size);
        EXPECT_EQ(reap.usable_size(got.data), got.size);
        fill(got.data, 1, got.size);
        (void)reap.allocate(1);
        reap.deallocate(got.data, got.size);
    }
    EXPECT_TRUE(reap.check());
}

TEST(Reap, ReallocatesInPlaceOrElsewhere) {
    Reap reap;
    auto *object = static_cast<unsigned char *>(reap.reallocate(nullptr, 32));
    for (std::size_t size = 32; size < 6000; size += 96) {
        fill(object, 7, size);
        auto *const grown = static_cast<unsigned char *>(reap.reallocate(object, size + 96));
        if (!reap::checked) {
            EXPECT_EQ(grown, object) << "it is the last one";
        }
        object = grown;
        ASSERT_TRUE(std::all_of(object, object + size, [](unsigned char byte) { return byte == 7; }));
    }
    (void)reap.allocate(1);
    object = static_cast<unsigned char *>(reap.reallocate(object, 20000));
    fill(object, 8, 20000);
    object = static_cast<unsigned char *>(reap.reallocate(object, 40000));
    EXPECT_TRUE(std::all_of(object, object + 20000, [](unsigned char byte) { return byte == 8; }));
    (void)reap.allocate(1);
    object = static_cast<unsigned char *>(reap.reallocate(object, 100));
    EXPECT_EQ(object[99], 8);
    EXPECT_EQ(reap::padding_at(reap.reallocate(object, 100, 4096), 4096), 0U);
    EXPECT_TRUE(reap.check());
    EXPECT_EQ(reap.try_reallocate(reap.allocate(8), SIZE_MAX), nullptr);
}

TEST(Reap, HasItsSourceMoveLargeObjects) {
    constexpr std::size_t megabyte = std::size_t{1} << 20;
    constexpr std::size_t least = 600000;
    reap::Reap<reap::SystemPages> reap;
    void *const other = reap.allocate(3 * megabyte);
    auto *object = static_cast<unsigned char *>(reap.allocate(megabyte));
    void *const newer = reap.allocate(2 * megabyte);
    fill(object, 7, megabyte);
    for (const std::size_t size : {2 * megabyte, 20 * megabyte, 5 * megabyte, megabyte, least}) {
        object = static_cast<unsigned char *>(reap.reallocate(object, size));
        EXPECT_EQ(std::count(object, object + least, 7), static_cast<std::ptrdiff_t>(least));
        EXPECT_GE(reap.usable_size(object), size);
        EXPECT_EQ(reap.statistics().large_objects, 3U);
        EXPECT_TRUE(reap.owns(object) && reap.owns(other) && reap.owns(newer));
        EXPECT_TRUE(reap.check());
    }
    object = static_cast<unsigned char *>(reap.reallocate(object, 100));
    EXPECT_EQ(std::count(object, object + 100, 7), 100);
    EXPECT_EQ(reap.statistics().large_objects, 2U);
    reap.deallocate(newer);
    reap.deallocate(other);
    EXPECT_TRUE(reap.check());
    EXPECT_EQ(reap.try_reallocate(object, reap::max_object), nullptr);
}

TEST(Reap, LaysObjectsOfOneSizeSideBySide) {
    if (reap::checked) GTEST_SKIP() << "checked mode does not";
    Reap reap(reap::ReapOptions{.largest_run = 4096});
    for (int i = 0; i < 20000; ++i) (void)reap.allocate(24 + 8 * static_cast<std::size_t>(i % 3));
    std::size_t beside = 0;
    const auto *before = static_cast<std::byte *>(reap.allocate(100));
    for (int i = 0; i < 1000; ++i) {
        (void)reap.allocate(40);
        const auto *const next = static_cast<std::byte *>(reap.allocate(100));
        beside += next - before == 104;
        before = next;
    }
    EXPECT_GT(beside, 900U) << "a run is 1/512 of what is held: some 12 of them";
    EXPECT_TRUE(reap.check());
    // Nothing is reused under a mark, and runs are as other free blocks.
    const auto mark = reap.mark();
    for (int i = 0; i < 50000; ++i) (void)reap.allocate(100);
    EXPECT_TRUE(reap.rewind(mark));
    EXPECT_TRUE(reap.check());
    reap.reset(reap::keep_none);
    EXPECT_EQ(reap.statistics().held, 0U);
}

TEST(Reap, RunsOfManySizesHoldLittleMoreThanTheirObjects) {
    if (reap::checked) GTEST_SKIP() << "checked mode does not";
    Reap reap(
        reap::ReapOptions{.largest_chunk = std::size_t{64} << 10, .largest_run = std::size_t{64} << 10});
    // Of each size as many: what is free is what is left of each bin's run.
    for (int i = 0; i < 5000; ++i) (void)reap.allocate(8 + 16 * static_cast<std::size_t>(i % 62));
    const reap::ReapStatistics found = reap.statistics();
    EXPECT_LT(found.held, found.live + found.live / 10);
    EXPECT_TRUE(reap.check());
}

TEST(Reap, GivesLargeObjectsBackAtOnce) {
    StrictSource source;
    SmallReap<StrictSource> reap{source};
    (void)reap.allocate(8);
    const std::size_t before = source.bytes();
    void *const object = reap.allocate(std::size_t{10} << 20);
    EXPECT_EQ(reap.statistics().large_objects, 1U);
    EXPECT_GT(source.bytes(), std::size_t{10} << 20);
    reap.deallocate(object);
    EXPECT_EQ(source.bytes(), before);
    // Aligned to more than a superblock: what is in front of it is not in one.
    void *const aligned = reap.allocate(100, std::size_t{1} << 20);
    EXPECT_EQ(reap.usable_size(aligned), reap::checked ? 100U : 104U);
    reap.deallocate(aligned, 100, std::size_t{1} << 20);
    EXPECT_EQ(source.bytes(), before);
}

TEST(Reap, GivesEmptyChunksBack) {
    StrictSource source;
    SmallReap<StrictSource> reap{source};
    std::vector<void *> objects(20000);
    for (auto &object : objects) object = reap.allocate(64);
    const std::size_t held = reap.statistics().held;
    for (auto *object : objects) reap.deallocate(object);
    reap.trim();
    EXPECT_LT(reap.statistics().held, held / 10);
    EXPECT_LE(source.bytes(), 3 * window);
    EXPECT_TRUE(reap.check());
    reap.reset(reap::keep_none);
    EXPECT_EQ(reap.statistics().held, 0U);
}

// The space that is bumped through was taken for something that lives.
TEST(Reap, GivesTheChunkInUseBackWhenNothingIsInIt) {
    Reap reap;
    std::vector<void *> objects(200);
    for (void *&object : objects) object = reap.allocate(1000);
    for (void *const object : objects) reap.deallocate(object);
    reap.trim();
    EXPECT_EQ(reap.statistics().live, 0U);
    EXPECT_EQ(reap.statistics().held, reap.options().first_chunk);
    EXPECT_TRUE(reap.check());
    fill(reap.allocate(1000), 1, 1000);
    EXPECT_TRUE(reap.check());
}

// It kept the memory of its own that the alignment had brought it, and went into a bin when it was freed.
TEST(Reap, MovesASmallObjectWhoseAlignmentIsAskedForNoMore) {
    Reap reap;
    reap.deallocate(reap.allocate(8));
    void *const aligned = reap.allocate(100, std::size_t{1} << 20U);
    fill(aligned, 7, 100);
    auto *const moved = static_cast<unsigned char *>(reap.reallocate(aligned, 100));
    // Checked mode knows each object's size, and lets it stay.
    EXPECT_EQ(reap.statistics().large_objects, reap::checked ? 1U : 0U);
    EXPECT_TRUE(std::all_of(moved, moved + 100, [](unsigned char byte) { return byte == 7; }));
    void *const last = reap.allocate(8);
    reap.deallocate(moved, 100);
    EXPECT_TRUE(reap.check());
    reap.deallocate(last, 8);
}

TEST(Reap, KeepsAtAResetWhatItIsTold) {
    Reap reap;
    for (int turn = 0; turn < 3; ++turn) {
        for (int number = 0; number < 1000; ++number) {
            void *const object = reap.allocate(200);
            if (number % 3 == 0) reap.deallocate(object);
        }
        reap.reset(20000);
        EXPECT_LE(reap.statistics().held, 20000U);
        EXPECT_EQ(reap.statistics().live, 0U);
        EXPECT_TRUE(reap.check());
    }
}

TEST(Reap, StaysWithinItsLimit) {
    StrictSource source;
    SmallReap<StrictSource> reap(source, {.limit = 100000});
    std::vector<void *> objects;
    while (void *const object = reap.try_allocate(100)) objects.push_back(object);
    EXPECT_LE(reap.statistics().held, 100000U);
    EXPECT_THROW((void)reap.allocate(100), std::bad_alloc);
    EXPECT_EQ(reap.try_allocate(std::size_t{1} << 20), nullptr);
    // What is freed is found again, under another size as well.
    for (std::size_t at = 0; at < 100; ++at) reap.deallocate(objects[at]);
    EXPECT_NE(reap.try_allocate(3000), nullptr);
    EXPECT_TRUE(reap.check());
}

TEST(Reap, ThrowsWhatTheSourceThrows) {
    StrictSource source;
    SmallReap<StrictSource> reap{source};
    source.fail_after(0);
    EXPECT_THROW((void)reap.allocate(8), StrictFailure);
    EXPECT_THROW((void)reap.allocate(std::size_t{1} << 20), StrictFailure);
    EXPECT_EQ(reap.try_allocate(8), nullptr);
    source.fail_never();
    EXPECT_NE(reap.try_allocate(8), nullptr);
    source.fail_after(0);
    EXPECT_THROW((void)reap.allocate(std::size_t{1} << 20), StrictFailure);
    EXPECT_TRUE(reap.check());
}

// A call that throws has changed the state before it does: of a copy, where a reap's source can be copied.
TEST(Reap, KeepsWhatACallDidBeforeItThrew) {
    Reap reap({.limit = 512 << 10});
    std::vector<void *> objects;
    while (void *const object = reap.try_allocate(200)) {
        fill(object, 1, 200);
        objects.push_back(object);
    }
    // The oldest lives, and one in the midst of the largest chunk: all others are released by a merge.
    const std::size_t kept = objects.size() - objects.size() / 4;
    for (std::size_t at = 1; at < objects.size(); ++at)
        if (at != kept) reap.deallocate(objects[at]);
    EXPECT_THROW((void)reap.allocate(250 << 10), std::bad_alloc);
    EXPECT_TRUE(reap.check());
    for (void *const object : {objects[0], objects[kept]}) {
        EXPECT_TRUE(reap.owns(object));
        const auto *const bytes = static_cast<const unsigned char *>(object);
        EXPECT_TRUE(std::all_of(bytes, bytes + 200, [](unsigned char byte) { return byte == 1; }));
    }
    const std::size_t held = reap.held();
    while (void *const object = reap.try_allocate(200)) fill(object, 2, 200);
    EXPECT_GE(reap.held(), held);
    EXPECT_TRUE(reap.check());
}

TEST(Reap, HoldsNoMoreForEachCallThatThrows) {
    reap::Superblocks<> superblocks;
    {
        Reap reap{superblocks};
        for (int turn = 0; turn < 1000; ++turn)
            EXPECT_THROW((void)reap.allocate(std::size_t{1} << 46), std::bad_alloc);
        EXPECT_LE(reap.held(), reap::ReapOptions{}.first_chunk);
    }
    superblocks.trim();
    EXPECT_EQ(superblocks.held(), 0U) << "no chunk is lost";
}

TEST(Reap, WalksOverWhatLives) {
    Reap reap;
    std::set<void *> live;
    for (std::size_t number = 0; number < 3000; ++number) {
        void *const object =
            reap.allocate(number % 400 == 0 ? 300000 : number % 90, number % 7 == 0 ? 64 : 8);
        live.insert(object);
        if (number % 3 == 0) {
            reap.deallocate(*live.begin());
            live.erase(live.begin());
        }
    }
    std::set<void *> seen;
    reap.for_each([&](void *object, std::size_t) { EXPECT_TRUE(seen.insert(object).second); });
    EXPECT_EQ(seen, live);
    // What is told of may be freed.
    reap.for_each([&](void *object, std::size_t) { reap.deallocate(object); });
    reap.for_each([](const void *, std::size_t) { ADD_FAILURE() << "all are freed"; });
    EXPECT_EQ(reap.statistics().live, 0U);
    EXPECT_TRUE(reap.check());
}

TEST(Reap, IsWholeAfterAWalkThatThrew) {
    Reap reap;
    std::vector<void *> objects(100);
    for (auto &object : objects) object = reap.allocate(40);
    for (std::size_t at = 0; at < objects.size(); at += 2) reap.deallocate(objects[at]);
    EXPECT_THROW(reap.for_each([](const void *, std::size_t) { throw std::runtime_error("seen enough"); }),
                 std::runtime_error);
    EXPECT_TRUE(reap.check());
    for (std::size_t at = 0; at < objects.size(); at += 2) objects[at] = reap.allocate(40);
    for (void *const object : objects) reap.deallocate(object);
    EXPECT_EQ(reap.statistics().live, 0U);
    EXPECT_TRUE(reap.check());
}

TEST(Reap, TellsOfItsMemory) {
    Reap reap;
    std::vector<void *> objects(1000);
    for (auto &object : objects) object = reap.allocate(2000);
    const auto before = reap.statistics();
    EXPECT_GE(before.live, 2000000U);
    EXPECT_GE(before.held, before.live + before.free);
    for (std::size_t at = 100; at < 200; ++at) reap.deallocate(objects[at]);
    const auto after = reap.statistics();
    EXPECT_EQ(after.live + after.free, before.live + before.free);
    EXPECT_GE(after.largest_hole, 2000U);
    reap.trim();
    EXPECT_GE(reap.statistics().largest_hole, 10 * 2000U) << "neighbours are merged";
}

TEST(Reap, HoldsNoMoreThanItsLimitWhereTheFirstChunkIsLarge) {
    constexpr std::size_t limit = std::size_t{2} << 20;
    Reap reap({.first_chunk = std::size_t{1} << 20, .limit = limit});
    (void)reap.try_allocate(1500000);
    EXPECT_LE(reap.statistics().held, limit);
}

TEST(Reap, ChecksItsMemoryWithoutGuards) {
    if (reap::checked) GTEST_SKIP() << "guards find it first";
    if (reap::hardened) GTEST_SKIP() << "what is written here is found one by one: hardened_test.cpp";
    Reap reap;
    std::vector<unsigned char *> objects(100);
    for (auto &object : objects) object = static_cast<unsigned char *>(reap.allocate(64));
    for (std::size_t at = 0; at < 60; at += 2) reap.deallocate(objects[at]);
    ASSERT_TRUE(reap.check());
    const auto finds = [&reap](void *place, const void *bytes, std::size_t size) {
        unsigned char before[8];
        std::memcpy(before, place, size);
        std::memcpy(place, bytes, size);
        const bool found = !reap.check();
        std::memcpy(place, before, size);
        return found && reap.check();
    };
    const unsigned char large = 100;
    EXPECT_TRUE(finds(shadow_of(objects[99]), &large, 1)) << "a size that reaches beyond the end";
    EXPECT_TRUE(finds(shadow_of(objects[40]), &large, 1)) << "another size than its list's";
    const unsigned char *const itself = objects[40];
    EXPECT_TRUE(finds(objects[40], static_cast<const void *>(&itself), sizeof itself)) << "a circle";
    const unsigned char *const inside = objects[30] + 4;
    EXPECT_TRUE(finds(objects[40], static_cast<const void *>(&inside), sizeof inside)) << "no block's place";
    const unsigned char *const live = objects[41];
    EXPECT_TRUE(finds(objects[40], static_cast<const void *>(&live), sizeof live))
        << "a live object's neighbour";

    auto *const older = static_cast<unsigned char *>(reap.allocate(3 << 20));
    (void)reap.allocate(3 << 20);
    EXPECT_TRUE(finds(older - 40, static_cast<const void *>(&live), sizeof live)) << "a header's link";
}

TEST(Reap, RefusesToReallocateToWhatCannotBe) {
    constexpr std::size_t mega = std::size_t{1} << 20;
    Reap reap({.limit = 8 * mega});
    void *small = reap.reallocate(nullptr, 100);
    fill(small, 1, 100);
    EXPECT_EQ(reap.try_reallocate(small, 100, 3), nullptr) << "no alignment";
    EXPECT_EQ(reap.try_reallocate(small, reap::max_object), nullptr);
    void *large = reap.allocate(3 * mega);
    fill(large, 2, 3 * mega);
    EXPECT_EQ(reap.try_reallocate(large, reap::max_object), nullptr);
    EXPECT_EQ(reap.try_reallocate(large, 9 * mega), nullptr) << "over the limit";
    void *const aligned = reap.try_reallocate(large, 3 * mega + 100, 4096);
    ASSERT_NE(aligned, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(aligned) % 4096, 0U);
    EXPECT_EQ(static_cast<unsigned char *>(aligned)[3 * mega - 1], 2);
    EXPECT_EQ(static_cast<unsigned char *>(small)[99], 1);
    EXPECT_TRUE(reap.check());
}

TEST(Reap, NoticesALargeBlockThatIsFreedTwice) {
    if (reap::checked) GTEST_SKIP() << "checked mode finds all";
    const MisuseLog log;
    Reap reap;
    void *const object = reap.allocate(4000);
    void *const last = reap.allocate(4000);
    reap.deallocate(object);
    reap.deallocate(object);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::double_free});
    reap.deallocate(last);
    EXPECT_TRUE(reap.check());
}

} // namespace
