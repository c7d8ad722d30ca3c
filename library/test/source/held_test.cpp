// Sources with state: a layer refers to one that has a name, and keeps one that cannot be copied.

#include <array>
#include <cstddef>
#include <gtest/gtest.h>

#include "reap/core/source.h"
#include "reap/layer/fixed_block.h"
#include "reap/layer/mempool.h"
#include "reap/layer/obstack.h"
#include "reap/layer/reap.h"
#include "reap/layer/region.h"
#include "reap/source/cached_pages.h"
#include "reap/source/huge_pages.h"
#include "reap/source/populated_pages.h"
#include "reap/source/system_pages.h"

namespace {

/// Counts what is held, in a member: a natural first draft.
struct Counting {
    void *try_allocate(std::size_t size, std::size_t alignment) noexcept {
        bytes += size;
        return reap::SystemPages::try_allocate(size, alignment);
    }
    void deallocate(void *data, std::size_t size, std::size_t alignment) noexcept {
        bytes -= size;
        reap::SystemPages::deallocate(data, size, alignment);
    }
    std::size_t bytes = 0;
};

/// The same, but it cannot be copied.
struct Unique : Counting {
    Unique() = default;
    Unique(const Unique &) = delete;
    Unique &operator=(const Unique &) = delete;
    ~Unique() = default;
};

static_assert(!reap::copies_are_equal<Counting> && !reap::copies_are_equal<Unique>);
static_assert(reap::copies_are_equal<reap::Ref<Counting>> && reap::copies_are_equal<reap::CachedPages>);
static_assert(reap::copies_are_equal<reap::PopulatedPages<reap::HugePages>>);

TEST(HeldSource, ANamedOneKeepsItsState) {
    Counting source;
    const auto expect_counted = [&source](auto &layer, const auto &take) {
        const std::size_t before = source.bytes;
        for (int number = 0; number < 3000; ++number) take(layer);
        EXPECT_GT(source.bytes, before);
    };
    {
        reap::Region region(source);
        reap::Reap reap(source);
        reap::Obstack obstack(source);
        reap::FixedBlock blocks(source, std::size_t{64});
        reap::Mempool<std::array<int, 4>, reap::Ref<Counting>> pool{reap::Ref(source)};
        const auto of_100 = [](auto &layer) { (void)layer.allocate(100); };
        expect_counted(region, of_100);
        expect_counted(reap, of_100);
        expect_counted(obstack, of_100);
        expect_counted(blocks, [](auto &layer) { (void)layer.allocate(); });
        expect_counted(pool, [](auto &layer) { (void)layer.allocate(); });
        expect_counted(region.nest(), of_100);
    }
    EXPECT_EQ(source.bytes, 0U);
}

TEST(HeldSource, OneThatCannotBeCopiedKeepsItsState) {
    reap::Region<Unique> region;
    for (int number = 0; number < 1000; ++number) (void)region.allocate(100);
    EXPECT_EQ(region.source().bytes, region.statistics().held);
    (void)region.nest().allocate(100000);
    EXPECT_GT(region.source().bytes, region.statistics().held);
}

} // namespace
