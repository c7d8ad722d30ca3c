// Reap::try_allocate_from_larger_bin(): free objects of the next sizes.

#include <cstddef>
#include <cstring>
#include <gtest/gtest.h>
#include <utility>
#include <vector>

#include "reap/layer/reap.h"
#include "reap/testkit/operation.h"

namespace {

using reap::Reap;

TEST(ReapLargerBin, HasAnObjectOfTheNextSizesUpToAThirdLarger) {
    if (reap::checked) GTEST_SKIP() << "checked mode has no free object at hand";
    Reap<> reap;
    EXPECT_EQ(reap.try_allocate_from_larger_bin(96), nullptr) << "nothing was freed yet";
    std::vector<void *> objects;
    for (const std::size_t size : {std::size_t{96}, std::size_t{128}, std::size_t{144}}) {
        objects.push_back(reap.allocate(size));
        (void)reap.allocate(8); // the newest object would be returned to the space it came from
    }
    // What is freed after them takes their places in hardened mode's quarantine.
    for (int later = 0; later < (reap::hardened ? REAP_QUARANTINE : 0); ++later)
        objects.push_back(reap.allocate(24));
    for (void *const object : objects) reap.deallocate(object);

    EXPECT_EQ(reap.try_allocate_from_larger_bin(100), objects[1]) << "the smallest that is larger";
    EXPECT_EQ(reap.try_allocate_from_larger_bin(100), nullptr) << "144 is more than a third more";
    EXPECT_EQ(reap.try_allocate_from_larger_bin(104), objects[2]);
    EXPECT_GE(Reap<>::usable_size(objects[2]), 144U);
    EXPECT_EQ(reap.try_allocate_from_larger_bin(80), objects[0]);
    EXPECT_EQ(reap.try_allocate_from_larger_bin(80), nullptr);
    EXPECT_EQ(reap.try_allocate_from_larger_bin(1000000), nullptr);
    EXPECT_EQ(reap.try_allocate_from_larger_bin(0), nullptr);
    EXPECT_TRUE(reap.check());
}

// With the last one back in untouched memory, the next allocation of that size took the slow path.
TEST(ReapLargerBin, TheLastSmallObjectIsAtHandAgain) {
    if (reap::checked || reap::hardened) GTEST_SKIP() << "a free is checked there";
    Reap<reap::CachedSuperblocks, 16> reap(reap::ReapOptions{.largest_run = 64});
    void *const first = reap.allocate(64);
    reap.deallocate_small(first);
    EXPECT_EQ(reap.try_allocate_from_bin(64), first);
    reap.deallocate_small(first);
    reap.deallocate_small(reap.allocate(1000));
    EXPECT_NE(reap.try_allocate_from_bin(1000), nullptr);
    EXPECT_TRUE(reap.check());
}

TEST(ReapLargerBin, ObjectsGoBackToTheBinOfTheirOwnSize) {
    if (reap::checked) GTEST_SKIP() << "checked mode has no free object at hand";
    Reap<> reap(reap::ReapOptions{.largest_run = 4096});
    reap::testkit::Random random(1);
    std::vector<std::pair<unsigned char *, std::size_t>> objects(2000);
    for (int turn = 0; turn < 100000; ++turn) {
        auto &[object, size] = objects[random.below(objects.size())];
        if (object != nullptr) {
            ASSERT_EQ(object[0], static_cast<unsigned char>(size));
            ASSERT_EQ(object[size - 1], static_cast<unsigned char>(size));
            if (turn % 2 == 0)
                reap.deallocate(object);
            else
                reap.deallocate(object, Reap<>::usable_size(object));
        }
        size = 1 + random.below(1000);
        object = static_cast<unsigned char *>(reap.try_allocate_from_larger_bin(size));
        if (object == nullptr) object = static_cast<unsigned char *>(reap.allocate(size));
        ASSERT_GE(Reap<>::usable_size(object), size);
        std::memset(object, static_cast<int>(size % 256), size);
        if (turn % 10000 == 0) {
            ASSERT_TRUE(reap.check()) << turn;
        }
    }
    for (const auto &[object, size] : objects) reap.deallocate(object);
    reap.trim();
    EXPECT_TRUE(reap.check());
    EXPECT_EQ(reap.statistics().live, 0U);
}

} // namespace
