// Reap: destructors, marks and children.

#include "reap/layer/reap.h"

#include <algorithm>
#include <cstddef>
#include <gtest/gtest.h>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "layer/reap/small_reap.h"
#include "misuse_log.h"
#include "speaker.h"
#include "strict_source.h"

namespace {

using reap::Misuse;
using reap::Reap;
using Kinds = std::vector<Misuse>;

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

} // namespace
