// Objects whose sizes have no code in the shadow, from 1 KB on, up to those that have memory of their own.

#include <cstddef>
#include <gtest/gtest.h>
#include <vector>

#include "reap/layer/reap.h"

namespace {

constexpr std::size_t sizes[] = {1009, 1016, 1017,  1024,  1032,  1100,  2016,  2017,
                                 2048, 4096, 32760, 32768, 32769, 40000, 65536, 262144};

template <class Reap>
class LongObject : public ::testing::Test {};
using Reaps = ::testing::Types<reap::Reap<>, reap::Reap<reap::CachedSuperblocks, 16>>;
TYPED_TEST_SUITE(LongObject, Reaps);

TYPED_TEST(LongObject, HasItsSizeWhereverItIsServed) {
    TypeParam reap;
    std::vector<std::byte *> objects;
    for (int round = 0; round < 3; ++round) {
        for (const std::size_t size : sizes) {
            auto *const object = static_cast<std::byte *>(reap.allocate(size));
            EXPECT_GE(reap.usable_size(object), size);
            EXPECT_LT(reap.usable_size(object), size + 16);
            object[0] = object[size - 1] = std::byte{1};
            objects.push_back(object);
        }
        EXPECT_TRUE(reap.check());
        // Every second one, so that holes stay apart.
        for (std::size_t number = 0; number < objects.size(); number += 2) reap.deallocate(objects[number]);
        objects.clear();
        EXPECT_TRUE(reap.check());
    }
}

TYPED_TEST(LongObject, StaysInItsChunkWhereSmallOnesPassedTheLimit) {
    TypeParam reap;
    std::vector<std::byte *> freed;
    for (std::size_t number = 0; number < 4000; ++number) {
        // Sizes whose bins are empty: then small objects are bumped beyond the limit.
        freed.push_back(static_cast<std::byte *>(reap.allocate(16 + number * 8 % 900)));
        if (number % 5 == 0) {
            auto *const object = static_cast<std::byte *>(reap.allocate(1100 + number * 7 % 6000));
            object[0] = object[1099] = std::byte{1};
        }
        if (number % 3 == 0) {
            reap.deallocate(freed[number / 2]);
            freed[number / 2] = static_cast<std::byte *>(reap.allocate(16));
        }
        if (number % 100 == 0) {
            ASSERT_TRUE(reap.check()) << number;
        }
    }
}

TYPED_TEST(LongObject, OfNoBytesIsASmallOne) {
    TypeParam reap;
    const volatile std::size_t none = 0; // not known to the compiler
    void *const object = reap.allocate(none);
    EXPECT_LE(reap.usable_size(object), 16U);
    EXPECT_TRUE(reap.check());
}

TYPED_TEST(LongObject, IsReplacedInTheSameHole) {
    if (reap::checked || reap::hardened) GTEST_SKIP() << "freed memory waits there";
    for (const std::size_t size : {std::size_t{2048}, std::size_t{4096}, std::size_t{65536}}) {
        TypeParam reap;
        void *const first = reap.allocate(size);
        (void)reap.allocate(size);
        reap.deallocate(first);
        const std::size_t held = reap.statistics().held;
        for (int turn = 0; turn < 100; ++turn) {
            void *const object = reap.allocate(size);
            void *const other = reap.allocate(size);
            reap.deallocate(object);
            reap.deallocate(other);
        }
        EXPECT_TRUE(reap.check());
        EXPECT_LE(reap.statistics().held, 4 * held);
    }
}

TYPED_TEST(LongObject, HasMemoryOfItsOwnAboveTheOptionsSize) {
    TypeParam reap(reap::ReapOptions{.first_chunk = std::size_t{64} << 10, .large_object = 4096});
    (void)reap.allocate(16);
    (void)reap.allocate(2048);
    EXPECT_EQ(reap.statistics().large_objects, 0U);
    (void)reap.allocate(8192);
    EXPECT_EQ(reap.statistics().large_objects, 1U);
    EXPECT_TRUE(reap.check());
}

TYPED_TEST(LongObject, AboveTheOptionsSizeTakesNoHole) {
    TypeParam reap(reap::ReapOptions{.first_chunk = std::size_t{64} << 10, .large_object = 4096});
    void *objects[4];
    for (void *&object : objects) object = reap.allocate(2048);
    (void)reap.allocate(2048);
    for (void *const object : objects) reap.deallocate(object);
    reap.trim();
    (void)reap.allocate(8192); // as large as the hole
    EXPECT_EQ(reap.statistics().large_objects, 1U);
    EXPECT_TRUE(reap.check());
}

} // namespace
