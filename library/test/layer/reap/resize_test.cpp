// layer/reap/resize.h: objects that have memory of their own, and small ones under a mark.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>

#include "layer/reap/small_reap.h"
#include "reap/layer/reap.h"
#include "stubborn_pages.h"

namespace {

constexpr std::size_t megabyte = std::size_t{1} << 20;

using OverPages = reap::Reap<StubbornPages>;

/// Whether the first bytes of an object are what `fill` left there.
bool holds(const void *object, int value, std::size_t size) {
    const auto *const bytes = static_cast<const unsigned char *>(object);
    return std::all_of(bytes, bytes + size, [=](unsigned char byte) { return byte == value; });
}

TEST(ReapResize, ALargeObjectThatIsTheOnlyOne) {
    OverPages reap;
    void *object = reap.reallocate(nullptr, megabyte);
    fill(object, 3, megabyte);
    for (const std::size_t size : {5 * megabyte, 2 * megabyte, 9 * megabyte}) {
        object = reap.reallocate(object, size);
        EXPECT_TRUE(holds(object, 3, megabyte));
        EXPECT_EQ(reap.statistics().large_objects, 1U);
        EXPECT_TRUE(reap.check());
    }
}

TEST(ReapResize, ALargeObjectWhoseSourceRefuses) {
    OverPages reap;
    void *object = reap.allocate(megabyte);
    fill(object, 4, megabyte);
    StubbornPages::refuses = true;
    object = reap.reallocate(object, 4 * megabyte);
    StubbornPages::refuses = false;
    EXPECT_TRUE(holds(object, 4, megabyte)) << "it is copied";
    EXPECT_EQ(reap.statistics().large_objects, 1U);
    EXPECT_TRUE(reap.check());
}

TEST(ReapResize, ALargeObjectWithinTheLimit) {
    OverPages reap({.limit = 8 * megabyte});
    void *object = reap.allocate(3 * megabyte);
    fill(object, 5, 3 * megabyte);
    EXPECT_EQ(reap.try_reallocate(object, 9 * megabyte), nullptr);
    EXPECT_TRUE(holds(object, 5, 3 * megabyte));
    object = reap.try_reallocate(object, 4 * megabyte);
    ASSERT_NE(object, nullptr);
    EXPECT_TRUE(holds(object, 5, 3 * megabyte));
    EXPECT_LE(reap.statistics().held, 8 * megabyte);
    EXPECT_TRUE(reap.check());
}

TEST(ReapResize, ALargeObjectToAnotherAlignment) {
    OverPages reap;
    void *object = reap.allocate(megabyte);
    fill(object, 6, megabyte);
    object = reap.reallocate(object, 2 * megabyte, 4096);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(object) % 4096, 0U);
    EXPECT_TRUE(holds(object, 6, megabyte));
    EXPECT_TRUE(reap.check());
}

TEST(ReapResize, SmallObjectsByEightBytesUnderAMark) {
    reap::Reap<> reap;
    std::array<void *, 40> objects{};
    const auto mark = reap.mark();
    const std::size_t live = reap.statistics().live;
    for (void *&object : objects) fill(object = reap.allocate(40), 7, 40);
    for (void *&object : objects) {
        object = reap.reallocate(object, 32);
        EXPECT_TRUE(holds(object, 7, 32));
        EXPECT_TRUE(reap.check());
    }
    EXPECT_TRUE(reap.rewind(mark));
    EXPECT_EQ(reap.statistics().live, live);
    EXPECT_TRUE(reap.check());
}

TEST(ReapResize, ChunksThatAreFullToTheirLastByte) {
    reap::SizedReap<> reap;
    for (int number = 0; number < 40000; ++number) fill(reap.allocate(16), 8, 16);
    EXPECT_TRUE(reap.check());
    EXPECT_GT(reap.statistics().chunks, 1U);
}

} // namespace
