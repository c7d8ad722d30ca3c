#include "reap/core/size.h"

#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>

namespace {

TEST(Size, MaximumAndMinimumOfSeveral) {
    static_assert(reap::detail::max(1, 2) == 2 && reap::detail::max(2, 1) == 2 &&
                  reap::detail::max(1, 3, 2, 0) == 3);
    static_assert(reap::detail::min(1, 2) == 1 && reap::detail::min(2, 1) == 1 &&
                  reap::detail::min(2, 0, 3, 1) == 0);
}

TEST(Size, OnlyPowersOfTwoAreAlignments) {
    EXPECT_FALSE(reap::is_alignment(0));
    EXPECT_FALSE(reap::is_alignment(3));
    EXPECT_FALSE(reap::is_alignment(SIZE_MAX));
    EXPECT_TRUE(reap::is_alignment(1));
    EXPECT_TRUE(reap::is_alignment(std::size_t{1} << 63U));
}

TEST(Size, NothingNearTheEndOfSizesIsPossible) {
    for (std::size_t below = 0; below <= 4096; ++below) {
        for (std::size_t alignment = 1; alignment <= std::size_t{2} << 20; alignment *= 2) {
            EXPECT_FALSE(reap::is_possible(SIZE_MAX - below, alignment));
        }
    }
    EXPECT_FALSE(reap::is_possible(reap::max_object, 1));
    EXPECT_FALSE(reap::is_possible(1, std::size_t{1} << 63U));
    EXPECT_FALSE(reap::is_possible(1, 1, SIZE_MAX));
    EXPECT_TRUE(reap::is_possible(reap::max_object - 4096, 1));
}

TEST(Size, PaddingReachesTheNextMultiple) {
    const auto *const at = reinterpret_cast<const std::byte *>(std::uintptr_t{1001});
    EXPECT_EQ(reap::padding_at(at, 1), 0U);
    EXPECT_EQ(reap::padding_at(at, 8), 7U);
    EXPECT_EQ(reap::padding_at(at, 4096), 4096U - 1001U);
}

} // namespace
