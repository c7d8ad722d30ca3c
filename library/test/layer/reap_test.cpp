#include "reap/layer/reap.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "misuse_log.h"
#include "reap/testkit/operation.h"
#include "speaker.h"
#include "strict_source.h"

namespace {

using reap::Misuse;
using reap::Reap;
using Kinds = std::vector<Misuse>;

/// Superblocks as small as can be, so that little is a lot.
constexpr std::size_t window = std::size_t{128} << 10;
template <class Source>
using SmallReap = Reap<reap::Ref<Source>, 8, window>;

void fill(void *object, int value, std::size_t size) { std::memset(object, value, size); }

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
    // The oldest lives, and one in the midst of the largest chunk: all others are given back by a merge.
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

TEST(Reap, RunsDestructorsTheYoungestFirstOrWhenTold) {
    std::string said;
    {
        Reap reap;
        (void)reap.create<Speaker>(said, 'a');
        auto *const second = reap.create<Speaker>(said, 'b');
        auto *const number = reap.create<int>(3);
        (void)reap.create<Speaker>(said, 'c');
        reap.destroy(second);
        EXPECT_EQ(said, "b");
        reap.destroy(number);
        reap.destroy(static_cast<Speaker *>(nullptr));
        EXPECT_TRUE(reap.check());
    }
    EXPECT_EQ(said, "bca");
}

TEST(Reap, LeavesNothingOfAConstructorThatThrows) {
    struct Thrower {
        Thrower() { throw std::runtime_error("as the test wants it"); }
        ~Thrower() { ADD_FAILURE() << "it was never there"; }
    };
    Reap reap;
    (void)reap.allocate(8);
    const std::size_t live = reap.statistics().live;
    EXPECT_THROW((void)reap.create<Thrower>(), std::runtime_error);
    EXPECT_EQ(reap.statistics().live, live);
}

TEST(Reap, RewindsAfterFrees) {
    std::string said;
    Reap reap;
    std::vector<unsigned char *> old(100);
    for (auto &object : old) {
        object = static_cast<unsigned char *>(reap.allocate(100));
        fill(object, 1, 100);
    }
    auto *const first = reap.create<Speaker>(said, 'a');
    for (std::size_t at = 0; at < 100; at += 4) reap.deallocate(old[at]);
    const auto mark = reap.mark();
    const std::size_t live = reap.statistics().live;
    for (int turn = 0; turn < 3; ++turn) {
        std::vector<void *> young(1000);
        for (auto &object : young) {
            object = reap.allocate(100);
            fill(object, 2, 100);
        }
        (void)reap.create<Speaker>(said, 'b');
        (void)reap.allocate(std::size_t{1} << 20);
        for (std::size_t at = 0; at < 1000; at += 2) reap.deallocate(young[at]);
        if (turn == 1) reap.deallocate(old[1]);
        const auto stale = reap.mark();
        EXPECT_TRUE(reap.rewind(mark));
        const MisuseLog log;
        EXPECT_FALSE(reap.rewind(stale));
        EXPECT_TRUE(reap.check());
    }
    EXPECT_LT(reap.statistics().live, live);
    EXPECT_EQ(reap.statistics().large_objects, 0U);
    EXPECT_EQ(said, "bbb");
    for (std::size_t at = 0; at < 100; ++at) {
        if (at % 4 == 0 || at == 1) continue;
        ASSERT_TRUE(std::all_of(old[at], old[at] + 100, [](unsigned char byte) { return byte == 1; })) << at;
    }
    reap.destroy(first);
    EXPECT_TRUE(reap.rewind(mark));
    EXPECT_EQ(said, "bbba");
    reap.reset();
    const MisuseLog log;
    EXPECT_FALSE(reap.rewind(mark)) << "it is gone with the reset";
}

TEST(Reap, RewindsWhereADestructorDestroysTheNewestThatIsOlder) {
    struct Owner {
        Reap<> *reap;
        Speaker *mine;
        ~Owner() { reap->destroy(mine); }
    };
    std::string said;
    {
        Reap reap;
        (void)reap.create<Speaker>(said, 'a');
        auto *const newest = reap.create<Speaker>(said, 'b');
        const auto mark = reap.mark();
        (void)reap.create<Owner>(&reap, newest);
        EXPECT_TRUE(reap.rewind(mark));
        EXPECT_EQ(said, "b");
        EXPECT_TRUE(reap.check());
    }
    EXPECT_EQ(said, "ba");
}

TEST(Reap, NestsAndEndsItsChildrenWithItselfOrEarlier) {
    std::string said;
    {
        Reap parent;
        auto &child = parent.nest();
        auto &grandchild = child.nest();
        (void)grandchild.create<Speaker>(said, 'g');
        (void)child.create<Speaker>(said, 'c');
        (void)parent.create<Speaker>(said, 'p');
        parent.destroy(&child);
        EXPECT_EQ(said, "cg");
        auto &second = parent.nest();
        void *const object = second.allocate(100);
        EXPECT_TRUE(second.owns(object));
        EXPECT_FALSE(parent.owns(object));
        (void)second.create<Speaker>(said, 's');
    }
    EXPECT_EQ(said, "cgsp");
}

TEST(Reap, SharesTheSuperblocksOfItsParent) {
    StrictSource source;
    SmallReap<StrictSource> parent{source};
    (void)parent.allocate(8);
    for (int number = 0; number < 5; ++number) (void)parent.nest().allocate(8);
    EXPECT_EQ(source.bytes(), window);
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

TEST(CheckedReap, FindsMisuse) {
    if (!reap::checked) GTEST_SKIP() << "only in checked mode";
    const MisuseLog log;
    Reap reap;
    auto *const object = static_cast<unsigned char *>(reap.allocate(100));
    (void)reap.allocate(40);
    const auto said = [object](Misuse what, std::size_t size) {
        const auto reports = MisuseLog::reports();
        MisuseLog::take();
        return reports.size() == 1 && reports[0].what == what && reports[0].address == object &&
               reports[0].size == size;
    };
    reap.deallocate(object, 101);
    EXPECT_TRUE(said(Misuse::wrong_size, 100));
    for (const std::size_t inside : {1U, 8U, 16U, 64U, 99U}) {
        reap.deallocate(object + inside);
        EXPECT_TRUE(said(Misuse::interior_free, 100)) << inside;
        fill(object, 1, 100);
    }
    reap.deallocate(object);
    EXPECT_EQ(MisuseLog::take(), Kinds{});
    reap.deallocate(object);
    EXPECT_TRUE(said(Misuse::double_free, 0));
    int stranger = 0;
    reap.deallocate(&stranger);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::foreign_free});

    Reap other;
    void *const theirs = other.allocate(10);
    reap.deallocate(theirs);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::foreign_free});

    write_anyway(object + 50, 1);
    for (int number = 0; number < 100; ++number) (void)reap.allocate(100); // now or later it is used again
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::use_after_free});

    void *const last = reap.allocate(100);
    reap.reset();
    reap.deallocate(last);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::double_free}) << "a free after the reset";
}

/// The shadow's byte for an address.
unsigned char *shadow_of(void *address) {
    constexpr std::uintptr_t mask = (std::uintptr_t{2} << 20) - 1;
    const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(address) & mask;
    return static_cast<unsigned char *>(address) - offset + offset / 16;
}

TEST(CheckedReap, FindsCorruptionAndDoesNotFollowIt) {
    if (!reap::checked) GTEST_SKIP() << "only in checked mode";
    const MisuseLog log;
    constexpr std::size_t in_front = 48; // of an object, in checked mode
    for (int byte = 0; byte < 256; ++byte) {
        Reap reap;
        std::vector<unsigned char *> objects(50);
        for (auto &object : objects) object = static_cast<unsigned char *>(reap.allocate(100));
        unsigned char *const shadow = shadow_of(objects[25] - in_front);
        const unsigned char before = *shadow;
        if (byte == before) continue;
        *shadow = static_cast<unsigned char>(byte);
        reap.deallocate(objects[25]);
        EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::corruption}) << byte;
        EXPECT_FALSE(reap.check()) << byte;
        MisuseLog::take();
        *shadow = before;
        EXPECT_TRUE(reap.check()) << byte;
        reap.deallocate(objects[25]);
        EXPECT_EQ(MisuseLog::take(), Kinds{}) << byte;
    }
}

TEST(CheckedReap, FindsALinkThatWasOverwritten) {
    if (!reap::checked) GTEST_SKIP() << "only in checked mode";
    const MisuseLog log;
    constexpr std::size_t in_front = 48;
    Reap reap;
    std::vector<unsigned char *> objects(50);
    for (auto &object : objects) object = static_cast<unsigned char *>(reap.allocate(100));
    for (std::size_t at = 10; at < 20; ++at) reap.deallocate(objects[at]);
    for (std::size_t at = 0; at < 8; ++at) write_anyway(objects[19] - in_front + at, 0x41);
    EXPECT_FALSE(reap.check());
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::corruption});
    // The block itself is good, and what it leads to is given up.
    for (int number = 0; number < 200; ++number) fill(reap.allocate(100), 1, 100);
    const auto reports = MisuseLog::take();
    EXPECT_GE(reports.size(), 1U);
    EXPECT_EQ(reports.front(), Misuse::corruption);
}

/// What a reap writes among its objects.
enum class Record { chunk, chunk_in_a_circle, spare_chunk, large, mark, ledger };

class CheckedReapRecord : public ::testing::TestWithParam<Record> {
  protected:
    static constexpr std::size_t in_front = 48;   // of an object: its guard
    static constexpr std::size_t chunk_lead = 48; // of a chunk
    static constexpr std::size_t large_lead = 56; // of a large object's block

    /// Writes over a record that a list goes through, the first word of which is a link.
    void write_over(Reap<> &reap, const std::vector<std::byte *> &objects) {
        std::byte *const chunk = objects.back() - in_front - chunk_lead;
        switch (GetParam()) {
        case Record::chunk_in_a_circle:
            write(chunk, static_cast<const void *>(&chunk), sizeof chunk);
            write(chunk + 16, "\0\0\0\0\0\0\0", 8); // the size
            break;
        case Record::spare_chunk:
            reap.reset();
            [[fallthrough]];
        case Record::chunk:
            write(chunk, "AAAAAAAA", 8);
            break;
        case Record::large:
            write(large_ - in_front - large_lead, "AAAAAAAA", 8);
            break;
        case Record::mark: {
            std::byte *record = nullptr;
            std::memcpy(static_cast<void *>(&record), &mark_, sizeof record);
            write(record, "AAAAAAAA", 8);
            break;
        }
        case Record::ledger:
            write(objects[100] - 40, "AAAAAAAA", 8);
            break;
        }
    }
    static void write(std::byte *place, const void *bytes, std::size_t size) {
        for (std::size_t at = 0; at < size; ++at)
            write_anyway(place + at, static_cast<const unsigned char *>(bytes)[at]);
    }

    std::byte *large_ = nullptr;
    Reap<>::Mark mark_;
};

TEST_P(CheckedReapRecord, ThatWasWrittenOverIsFoundAndNotFollowed) {
    if (!reap::checked) GTEST_SKIP() << "only in checked mode";
    const MisuseLog log;
    Reap reap({.growth = 1}); // chunks of 8 KB
    std::vector<std::byte *> objects;
    while (objects.size() < 1000 ||
           reinterpret_cast<std::uintptr_t>(objects.back()) % 8192 != in_front + chunk_lead)
        objects.push_back(static_cast<std::byte *>(reap.allocate(100)));
    large_ = static_cast<std::byte *>(reap.allocate(3 << 20));
    mark_ = reap.mark();
    (void)reap.allocate(100);
    write_over(reap, objects);

    EXPECT_FALSE(reap.check());
    const Kinds reports = MisuseLog::take();
    ASSERT_FALSE(reports.empty());
    EXPECT_EQ(reports.front(), GetParam() == Record::ledger ? Misuse::underflow : Misuse::corruption);
    (void)reap.owns(objects[0]);
    (void)reap.statistics();
    reap.for_each([](void * /*object*/, std::size_t /*size*/) {});
    MisuseLog::take();
    fill(reap.allocate(100), 1, 100);
    for (const std::size_t near : {1U, 99U, 101U}) { // in its list, too
        reap.deallocate(objects[near] + 8);
        reap.deallocate(objects[near]);
    }
    (void)reap.rewind(mark_);
    reap.trim();
    reap.reset();
    MisuseLog::take();
    EXPECT_TRUE(reap.check()) << "it has begun anew";
    for (int number = 0; number < 1000; ++number) fill(reap.allocate(100), 1, 100);
    EXPECT_TRUE(reap.check());
    EXPECT_EQ(MisuseLog::take(), Kinds{});
}

INSTANTIATE_TEST_SUITE_P(Of, CheckedReapRecord,
                         ::testing::Values(Record::chunk, Record::chunk_in_a_circle, Record::spare_chunk,
                                           Record::large, Record::mark, Record::ledger));

TEST(CheckedReap, RunsNoDestructorThatWasWrittenOver) {
    if (!reap::checked) GTEST_SKIP() << "only in checked mode";
    struct Named {
        char name[8];
        ~Named() { name[0] = 0; }
    };
    const MisuseLog log;
    for (const bool by_destroy : {false, true}) {
        Reap reap;
        std::string said;
        (void)reap.create<Speaker>(said, 'a');
        Named *const named = reap.create<Named>();
        for (std::size_t at = 8; at < 32; ++at) // behind it is what runs its destructor
            write_anyway(reinterpret_cast<std::byte *>(named) + at, 0x41);
        EXPECT_FALSE(reap.check());
        EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::corruption});
        if (by_destroy) reap.destroy(named);
        reap.reset();
        EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::corruption});
        EXPECT_EQ(said, "") << "nobody knows whether it is still there";
    }
}

TEST(CheckedReap, FindsAFreeInsteadOfADestroy) {
    if (!reap::checked) GTEST_SKIP() << "only in checked mode";
    const MisuseLog log;
    Reap reap;
    std::string said;
    Speaker *const speaker = reap.create<Speaker>(said, 'a');
    reap.deallocate(speaker);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::skipped_destructor});
    (void)reap.nest();
    int refused = 0;
    reap.for_each([&](void *object, std::size_t /*size*/) { reap.deallocate(object), ++refused; });
    EXPECT_EQ(refused, 2);
    EXPECT_EQ(MisuseLog::take(), Kinds(2, Misuse::skipped_destructor));
    reap.reset();
    EXPECT_EQ(said, "a");
    EXPECT_EQ(MisuseLog::take(), Kinds{});
}

TEST(CheckedReap, FindsWhatIsReallocatedAfterItsFree) {
    if (!reap::checked) GTEST_SKIP() << "only in checked mode";
    const MisuseLog log;
    Reap reap;
    void *const object = reap.allocate(100);
    reap.deallocate(object);
    void *const other = reap.reallocate(object, 100); // may well stand there: it is another one
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::double_free});
    fill(other, 1, 100);
    std::size_t live = 0;
    reap.for_each([&](void *each, std::size_t /*size*/) { live += each == other; });
    EXPECT_EQ(live, 1U);
    reap.deallocate(other);
    EXPECT_FALSE(reap.resize(other, 100));
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::double_free});
    alignas(64) static std::byte stranger[256];
    EXPECT_FALSE(reap.resize(stranger + 64, 100));
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::foreign_free});
}

TEST(CheckedReap, NamesTheObjectWhoseGuardsAreFreed) {
    if (!reap::checked) GTEST_SKIP() << "only in checked mode";
    const MisuseLog log;
    Reap reap;
    auto *const object = static_cast<std::byte *>(reap.allocate(64));
    for (const std::ptrdiff_t off : {-48, -16, 64}) {
        reap.deallocate(object + off);
        const auto reports = MisuseLog::reports();
        EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::interior_free}) << off;
        EXPECT_EQ(reports.front().address, object) << off;
    }
}

TEST(Reap, HoldsNoMoreThanItsLimitWhereTheFirstChunkIsLarge) {
    constexpr std::size_t limit = std::size_t{2} << 20;
    Reap reap({.first_chunk = std::size_t{1} << 20, .limit = limit});
    (void)reap.try_allocate(1500000);
    EXPECT_LE(reap.statistics().held, limit);
}

TEST(Reap, UsesAgainWhatIsFreeAfterAMarkThatFailed) {
    if (reap::checked) GTEST_SKIP() << "a record, which has no guards, fits where no object does";
    Reap reap({.limit = 100000});
    std::vector<void *> objects;
    for (const std::size_t size : {100U, 16U}) // until there is no room for a mark's record either
        while (void *const object = reap.try_allocate(size)) objects.push_back(object);
    for (std::size_t at = 0; at < 400; at += 2) reap.deallocate(objects[at]);
    ASSERT_NE(reap.try_allocate(100), nullptr);
    const std::size_t free = reap.statistics().free;
    EXPECT_THROW((void)reap.mark(), std::bad_alloc);
    EXPECT_EQ(reap.statistics().free, free);
    EXPECT_NE(reap.try_allocate(100), nullptr);
    EXPECT_TRUE(reap.check());
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

TEST(Reap, ShrinksUnderAMark) {
    Reap reap;
    void *const object = reap.allocate(200);
    const auto mark = reap.mark();
    for (std::size_t size = 200; size > 8; size -= 8) (void)reap.resize(object, size);
    EXPECT_TRUE(reap.check());
    EXPECT_TRUE(reap.rewind(mark));
    EXPECT_TRUE(reap.check());
    reap.deallocate(object);
    EXPECT_TRUE(reap.check());
}

TEST(CheckedReap, FindsADestroyAfterTheDestroy) {
    if (!reap::checked) GTEST_SKIP() << "only in checked mode";
    const MisuseLog log;
    Reap reap;
    std::string said;
    Speaker *const speaker = reap.create<Speaker>(said, 'a');
    reap.destroy(speaker);
    reap.destroy(speaker);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::double_free});
    EXPECT_EQ(said, "a");
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

TEST(CheckedReap, RewindsPastAGuardThatWasWrittenOver) {
    if (!reap::checked) GTEST_SKIP() << "only in checked mode";
    const MisuseLog log;
    Reap reap;
    void *const older = reap.allocate(100);
    const auto mark = reap.mark();
    std::vector<std::byte *> newer(5);
    for (auto &object : newer) object = static_cast<std::byte *>(reap.allocate(100));
    for (std::size_t at = 1; at <= 40; ++at) write_anyway(newer[2] - at, 0x41);
    EXPECT_TRUE(reap.rewind(mark));
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::underflow});
    reap.deallocate(older);
    EXPECT_TRUE(reap.check());
    EXPECT_EQ(MisuseLog::take(), Kinds{});
}

TEST(CheckedReap, EndsWhatIsBesideADestructorThatWasWrittenOver) {
    if (!reap::checked) GTEST_SKIP() << "only in checked mode";
    const MisuseLog log;
    std::string said;
    Reap reap;
    (void)reap.mark();
    Speaker *const older = reap.create<Speaker>(said, 'a');
    Speaker *const broken = reap.create<Speaker>(said, 'b');
    for (std::size_t at = sizeof(Speaker); at < sizeof(Speaker) + 24; ++at)
        write_anyway(reinterpret_cast<std::byte *>(broken) + at, 0x41);
    Speaker *const newer = reap.create<Speaker>(said, 'c');
    void *const plain = reap.allocate(100);
    reap.deallocate(plain);
    reap.destroy(older);
    EXPECT_EQ(MisuseLog::take(), Kinds{});
    reap.destroy(broken);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::corruption});
    (void)newer; // nobody knows of it any more
    reap.reset();
    EXPECT_EQ(said, "a");
    EXPECT_EQ(MisuseLog::take(), Kinds{});
}

TEST(CheckedReap, TrimsAndResetsWithWhatWasWrittenOver) {
    if (!reap::checked) GTEST_SKIP() << "only in checked mode";
    const MisuseLog log;
    constexpr std::size_t in_front = 48;
    Reap reap;
    std::vector<std::byte *> objects(50);
    for (auto &object : objects) object = static_cast<std::byte *>(reap.allocate(100));
    for (std::size_t at = 10; at < 20; ++at) reap.deallocate(objects[at]);
    for (std::size_t at = 0; at < 8; ++at) write_anyway(objects[15] - in_front + at, 0x41); // a link
    reap.trim();
    EXPECT_FALSE(MisuseLog::take().empty());
    reap.reset();
    MisuseLog::take();
    EXPECT_TRUE(reap.check());
    EXPECT_EQ(MisuseLog::take(), Kinds{});
}

} // namespace
