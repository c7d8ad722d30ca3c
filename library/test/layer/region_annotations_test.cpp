// What a region tells AddressSanitizer and memcheck, both ways: closed where nobody may touch, open where
// somebody may, and open all over when memory goes back.

#include <cstddef>
#include <cstring>
#include <gtest/gtest.h>

#include "reap/core/size.h"
#include "reap/layer/region.h"
#include "watched.h"

namespace {

using reap::Region;
using reap::RegionOptions;

/// Memory that stays where it is when it is freed, so that it can be looked at then.
struct Shelf {
    static constexpr std::size_t size = std::size_t{1} << 17;
    alignas(4096) static inline std::byte bytes[size];
    std::size_t taken = 0;
    std::size_t out = 0;

    void *try_allocate(std::size_t bytes_wanted, std::size_t alignment) noexcept {
        const std::size_t at = reap::round_up(taken, alignment);
        if (at > size || bytes_wanted > size - at) return nullptr;
        taken = at + bytes_wanted;
        out += bytes_wanted;
        return bytes + at;
    }
    void deallocate(void *data, std::size_t bytes_given, std::size_t /*alignment*/) noexcept {
        out -= bytes_given;
        EXPECT_TRUE(is_open(data, bytes_given)) << "freed while closed";
    }
    static bool is_open(const void *data, std::size_t length) {
        for (std::size_t at = 0; at < length; ++at) {
            if (is_closed(static_cast<const std::byte *>(data) + at)) return false;
        }
        return true;
    }
    static bool is_shut(const void *data, std::size_t length) {
        for (std::size_t at = 0; at < length; ++at) {
            if (!is_closed(static_cast<const std::byte *>(data) + at)) return false;
        }
        return true;
    }
};

class Annotations : public testing::Test {
  protected:
    void SetUp() override {
        if (!is_watched()) GTEST_SKIP() << "no tool watches this build";
    }
    void TearDown() override {
        region.reset(reap::keep_none);
        EXPECT_EQ(shelf.out, 0U);
        EXPECT_TRUE(Shelf::is_open(Shelf::bytes, Shelf::size));
    }

    /// An object with a value.
    std::byte *make(std::size_t size, std::size_t alignment = 16) {
        void *const object = region.allocate(size, alignment);
        EXPECT_TRUE(Shelf::is_open(object, size));
        EXPECT_TRUE(is_undefined(object));
        std::memset(object, 1, size);
        return static_cast<std::byte *>(object);
    }

    Shelf shelf;
    Region<reap::Ref<Shelf>> region{shelf, RegionOptions{.large_object = 16384}};
};

TEST_F(Annotations, AnObjectIsOpenAndWhatIsAroundItIsNot) {
    for (const std::size_t size : {1UL, 7UL, 8UL, 16UL, 40UL, 1000UL, 20000UL}) {
        const std::byte *const object = make(size);
        EXPECT_TRUE(Shelf::is_open(object, size));
        EXPECT_TRUE(is_closed(object - 1));
        EXPECT_TRUE(is_closed(object + size)) << size;
        EXPECT_TRUE(is_closed(object + size + 15));
    }
    const std::byte *const aligned = make(100, 256);
    EXPECT_TRUE(Shelf::is_shut(aligned - 64, 64));
}

TEST_F(Annotations, FreeMemoryIsClosed) {
    (void)make(100);
    std::byte *const object = make(100);
    region.deallocate(object, 100);
    EXPECT_TRUE(Shelf::is_shut(object, 2000));
    EXPECT_EQ(make(100), object);
}

TEST_F(Annotations, GrowingOpensAndShrinkingCloses) {
    std::byte *const object = make(100);
    ASSERT_TRUE(region.resize(object, 100, 200));
    EXPECT_TRUE(Shelf::is_open(object, 200));
    EXPECT_TRUE(is_closed(object + 200));
    EXPECT_TRUE(is_undefined(object + 150));
    ASSERT_TRUE(region.resize(object, 200, 50));
    EXPECT_TRUE(Shelf::is_open(object, 50));
    EXPECT_TRUE(Shelf::is_shut(object + 50, 100));
}

TEST_F(Annotations, RewindingClosesWhatIsYounger) {
    const std::byte *const older = make(100);
    const auto mark = region.mark();
    const std::byte *const younger = make(100);
    const std::byte *const in_another_chunk = make(10000);
    const std::byte *const large = make(20000);
    ASSERT_TRUE(region.rewind(mark));
    EXPECT_TRUE(Shelf::is_open(older, 100));
    EXPECT_TRUE(Shelf::is_shut(younger, 100));
    EXPECT_TRUE(Shelf::is_shut(in_another_chunk, 10000));
    EXPECT_TRUE(Shelf::is_open(large, 20000)) << "went back";
}

TEST_F(Annotations, ResetClosesWhatItKeeps) {
    const std::byte *const object = make(100);
    const std::byte *const in_another_chunk = make(10000);
    region.reset();
    EXPECT_TRUE(Shelf::is_shut(object, 100));
    EXPECT_TRUE(Shelf::is_shut(in_another_chunk, 10000));
}

TEST_F(Annotations, SplicingLeavesObjectsAsTheyAre) {
    const std::byte *mine = make(100);
    const std::byte *theirs = nullptr;
    {
        Region<reap::Ref<Shelf>> other(shelf);
        theirs = static_cast<std::byte *>(other.allocate(100));
        region.splice(other);
    }
    for (const auto *object : {mine, theirs}) {
        EXPECT_TRUE(Shelf::is_open(object, 100));
        EXPECT_TRUE(is_closed(object + 100));
    }
}

} // namespace
