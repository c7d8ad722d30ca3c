#include "reap/source/arena.h"

#include <cstddef>
#include <cstring>
#include <gtest/gtest.h>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "misuse_log.h"
#include "reap/layer/region.h"
#include "strict_source.h"

namespace {

using reap::Arena;
using reap::Misuse;
using Kinds = std::vector<Misuse>;
constexpr std::size_t page = 4096;

static_assert(reap::Source<Arena<>> && reap::ThrowingSource<Arena<>> && reap::AtLeastSource<Arena<>>);
static_assert(!std::is_copy_constructible_v<Arena<>> && !std::is_move_constructible_v<Arena<>>);
static_assert(!std::is_copy_assignable_v<Arena<>> && !std::is_move_assignable_v<Arena<>>);

TEST(Arena, HandsOutItsPagesInOrder) {
    Arena arena(10 * page);
    EXPECT_EQ(arena.page_size(), page);
    EXPECT_EQ(arena.total_pages(), 10U);
    std::byte *before = nullptr;
    for (std::size_t number = 0; number < 10; ++number) {
        EXPECT_EQ(arena.pages_allocated(), number);
        auto *const got = static_cast<std::byte *>(arena.alloc_page());
        ASSERT_NE(got, nullptr);
        EXPECT_EQ(reap::padding_at(got, page), 0U);
        EXPECT_TRUE(before == nullptr || got == before + page);
        std::memset(got, 1, page);
        before = got;
    }
    EXPECT_EQ(arena.alloc_page(), nullptr);
    EXPECT_EQ(arena.pages_allocated(), 10U);
    EXPECT_EQ(arena.alloc_page(), nullptr);
}

TEST(Arena, RefusesBadSizes) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, page - 1, page + 1, (256U << 20U) + page,
                                   SIZE_MAX, SIZE_MAX - page + 1}) {
        EXPECT_THROW(Arena{size}, std::invalid_argument) << size;
    }
    EXPECT_EQ(Arena(256U << 20U).total_pages(), 65536U);
    EXPECT_EQ(Arena((256U << 20U) + page, {.limit = 512U << 20U}).total_pages(), 65537U);
    EXPECT_THROW(Arena(2 * page, {.limit = page}), std::invalid_argument);
}

TEST(Arena, ThrowsWhatTheSourceThrows) {
    StrictSource source;
    source.fail_after(0, 1);
    EXPECT_THROW(Arena(source, page), StrictFailure);
    // Larger than the address space.
    EXPECT_THROW(Arena(std::size_t{1} << 60U, {.limit = SIZE_MAX}), std::bad_alloc);
}

TEST(Arena, HandsOutRuns) {
    Arena arena(16 * page);
    EXPECT_EQ(arena.try_allocate_at_least(0, 1).size, page);
    const auto run = arena.try_allocate_at_least(2 * page + 1, 8);
    EXPECT_EQ(run.size, 3 * page);
    std::memset(run.data, 1, run.size);
    EXPECT_EQ(arena.pages_allocated(), 4U);
    EXPECT_EQ(arena.try_allocate(13 * page), nullptr);
    EXPECT_THROW((void)arena.allocate(13 * page), std::bad_alloc);
    EXPECT_NE(arena.allocate(12 * page), nullptr);
    EXPECT_EQ(arena.alloc_page(), nullptr);
}

TEST(Arena, AlignsRunsByAddress) {
    Arena arena(std::size_t{8} << 20);
    (void)arena.alloc_page();
    for (std::size_t alignment = 1; alignment <= std::size_t{2} << 20; alignment *= 2) {
        void *const got = arena.try_allocate(5000, alignment);
        ASSERT_NE(got, nullptr) << alignment;
        EXPECT_EQ(reap::padding_at(got, alignment), 0U);
        EXPECT_EQ(reap::padding_at(got, page), 0U);
        std::memset(got, 1, 5000);
    }
}

TEST(Arena, RefusesWhatCannotBe) {
    for (const bool grows : {false, true}) {
        Arena arena(4 * page, {.grows = grows});
        for (const std::size_t alignment : {0UL, 3UL, 24UL, 4097UL}) {
            EXPECT_EQ(arena.try_allocate(1, alignment), nullptr);
            EXPECT_THROW((void)arena.allocate(1, alignment), std::bad_alloc);
        }
        for (std::size_t below = 0; below <= 4 * page; ++below) {
            EXPECT_EQ(arena.try_allocate(SIZE_MAX - below), nullptr);
            EXPECT_EQ(arena.try_allocate(reap::max_object - below, 64), nullptr);
        }
        EXPECT_EQ(arena.try_allocate(1, std::size_t{1} << 63U), nullptr);
        EXPECT_EQ(arena.try_allocate(1, std::size_t{1} << 40U), nullptr);
        EXPECT_EQ(arena.pages_allocated(), 0U);
        EXPECT_NE(arena.alloc_page(), nullptr);
    }
}

TEST(Arena, TakesTheLastRunBack) {
    Arena arena(8 * page);
    void *const first = arena.allocate(page);
    void *const second = arena.allocate(3 * page);
    arena.deallocate(second, 3 * page - 5);
    EXPECT_EQ(arena.pages_allocated(), 1U);
    EXPECT_EQ(arena.allocate(page), second);
    arena.deallocate(first, page);
    EXPECT_EQ(arena.pages_allocated(), 2U);
    arena.deallocate(nullptr, page);
    EXPECT_EQ(arena.alloc_page(), static_cast<std::byte *>(second) + page);
}

TEST(Arena, BeginsAnewAtAReset) {
    StrictSource source;
    Arena arena(source, 4 * page, {.grows = true});
    std::vector<void *> pages;
    for (int round = 0; round < 3; ++round) {
        std::vector<void *> now(20);
        for (auto &got : now) got = arena.alloc_page();
        for (void *const got : now) std::memset(got, round, page);
        if (round > 0) {
            EXPECT_EQ(now, pages);
        }
        pages = now;
        const std::size_t blocks = source.blocks();
        arena.reset();
        EXPECT_EQ(source.blocks(), blocks);
        EXPECT_EQ(arena.pages_allocated(), 0U);
    }
}

TEST(Arena, GrowsWhereItMay) {
    StrictSource source;
    Arena arena(source, 4 * page, {.grows = true, .limit = 20 * page});
    for (std::size_t number = 0; number < 4; ++number) EXPECT_NE(arena.alloc_page(), nullptr);
    EXPECT_EQ(source.blocks(), 1U);
    EXPECT_NE(arena.alloc_page(), nullptr);
    EXPECT_EQ(source.blocks(), 2U);
    EXPECT_EQ(arena.statistics().held, 8 * page);
    EXPECT_EQ(arena.total_pages(), 7U);
    EXPECT_EQ(arena.pages_allocated(), 5U);
    // More than a mapping of the usual size has; what was left is skipped.
    void *const large = arena.try_allocate(6 * page);
    ASSERT_NE(large, nullptr);
    EXPECT_TRUE(arena.owns(large));
    EXPECT_TRUE(arena.owns(static_cast<std::byte *>(large) + 6 * page - 1));
    EXPECT_FALSE(arena.owns(&source));
    EXPECT_EQ(arena.pages_allocated(), 13U);
    EXPECT_EQ(arena.try_allocate(5 * page), nullptr);
    // Five are left below the limit, one for the record.
    EXPECT_NE(arena.try_allocate(4 * page), nullptr);
    EXPECT_EQ(arena.statistics().held, 20 * page);
    EXPECT_EQ(arena.statistics().used, arena.pages_allocated() * page);
    EXPECT_EQ(arena.statistics().mappings, 4U);
    EXPECT_EQ(arena.alloc_page(), nullptr);
    EXPECT_THROW((void)arena.allocate(1), std::bad_alloc);

    // A mapping that is too small for this request is left for others.
    arena.reset();
    EXPECT_EQ(arena.allocate(6 * page), large);
    for (int i = 0; i < 3; ++i) EXPECT_NE(arena.alloc_page(), nullptr);
}

TEST(Arena, StaysUsableWhereTheSourceFails) {
    StrictSource source;
    Arena arena(source, 2 * page, {.grows = true});
    (void)arena.allocate(2 * page);
    source.fail_after(0);
    EXPECT_EQ(arena.alloc_page(), nullptr);
    EXPECT_THROW((void)arena.allocate(1), StrictFailure);
    EXPECT_EQ(arena.pages_allocated(), 2U);
    source.fail_never();
    EXPECT_NE(arena.alloc_page(), nullptr);

    // The usual size fails, the needed one is had.
    arena.reset();
    Arena wide(source, 100 * page, {.grows = true});
    (void)wide.allocate(100 * page);
    source.fail_after(0, 1);
    EXPECT_NE(wide.alloc_page(), nullptr);
    EXPECT_EQ(wide.statistics().held, 102 * page);
}

TEST(Arena, CarriesARegion) {
    StrictSource source;
    Arena arena(source, 64 * page);
    {
        reap::Region region(arena);
        std::size_t objects = 0;
        while (auto *const object = static_cast<unsigned char *>(region.try_allocate(1000))) {
            std::memset(object, 1, 1000);
            ++objects;
        }
        EXPECT_GT(objects, 120U);
        EXPECT_THROW((void)region.allocate(1000), std::bad_alloc);
        region.reset(reap::keep_none);
        EXPECT_EQ(region.statistics().held, 0U);
    }
    EXPECT_EQ(source.calls(), 1U);
}

/// What checked mode finds.
struct ArenaMisuse : testing::Test {
    MisuseLog log;
    Arena<> arena{16 * page};
    void SetUp() override {
        if (!reap::checked) GTEST_SKIP() << "only in checked mode";
    }
    std::byte *pages(std::size_t count) { return static_cast<std::byte *>(arena.allocate(count * page)); }
};

TEST_F(ArenaMisuse, SilentWhereNothingIsWrong) {
    std::byte *const first = pages(2);
    (void)arena.allocate(page, 4 * page);
    std::byte *const last = pages(3);
    std::memset(last, 1, 3 * page);
    arena.deallocate(first, 2 * page);
    arena.deallocate(last, 3 * page);
    std::memset(pages(5), 1, 5 * page);
    arena.reset();
    std::memset(pages(16), 1, 16 * page);
    arena.reset();
    (void)arena.allocate(page, 4 * page);
    EXPECT_EQ(MisuseLog::take(), Kinds{});
}

TEST_F(ArenaMisuse, ForgetsRunsThatItSkipsForAnAlignment) {
    while (reap::padding_at(pages(1) + page, 4 * page) != 3 * page) {
    }
    arena.deallocate(pages(8), 8 * page);
    std::memset(arena.allocate(page, 4 * page), 1, page);
    arena.reset();
    EXPECT_EQ(MisuseLog::take(), Kinds{});
}

TEST_F(ArenaMisuse, TellsBadFreesApart) {
    std::byte *const first = pages(2);
    std::byte *const last = pages(1);
    std::byte somewhere{};
    void *volatile outside = &somewhere; // or the compiler sees what it is, and warns
    arena.deallocate(first + page, page);
    arena.deallocate(first + 16, page);
    arena.deallocate(outside, page);
    arena.deallocate(last + page, page);
    EXPECT_EQ(MisuseLog::take(), Kinds(4, Misuse::foreign_free));
    for (const std::size_t size : {std::size_t{1}, page, 3 * page, SIZE_MAX}) arena.deallocate(first, size);
    EXPECT_EQ(MisuseLog::take(), Kinds(4, Misuse::wrong_size));
    arena.deallocate(first, 2 * page);
    arena.deallocate(first, 2 * page);
    arena.deallocate(last, page);
    arena.deallocate(last, page);
    EXPECT_EQ(MisuseLog::take(), Kinds(2, Misuse::double_free));
    EXPECT_EQ(arena.alloc_page(), last);
    arena.reset();
    arena.deallocate(first, 2 * page);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::foreign_free});
}

TEST_F(ArenaMisuse, FindsWritesToFreePages) {
    std::byte *const first = pages(2);
    std::byte *const last = pages(1);
    write_anyway(last + page, 1);
    (void)pages(1);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::overflow});
    arena.deallocate(first, 2 * page);
    write_anyway(first + page + 5, 1);
    arena.reset();
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::use_after_free});
    write_anyway(last, 1);
    (void)pages(3);
    EXPECT_EQ(MisuseLog::reports().at(0).address, last);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::use_after_reset});
}

TEST_F(ArenaMisuse, LooksAtFreePagesAtItsEnd) {
    {
        Arena<> full(page);
        write_anyway(static_cast<std::byte *>(full.alloc_page()) + page, 1);
    }
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::overflow});
}

#if REAP_CHECKED && REAP_ASAN
TEST(Arena, ClosesWhatIsFree) {
    Arena arena(16 * page);
    auto *const first = static_cast<std::byte *>(arena.allocate(2 * page));
    EXPECT_TRUE(__asan_address_is_poisoned(first + 2 * page));
    EXPECT_TRUE(__asan_address_is_poisoned(first + 15 * page));
    EXPECT_EQ(__asan_region_is_poisoned(first, 2 * page), nullptr);
    arena.deallocate(first, 2 * page);
    EXPECT_TRUE(__asan_address_is_poisoned(first));
    EXPECT_EQ(arena.alloc_page(), first);
    EXPECT_EQ(__asan_region_is_poisoned(first, page), nullptr);
    arena.reset();
    EXPECT_TRUE(__asan_address_is_poisoned(first));
}

TEST(Arena, LeavesNoMarkBehind) {
    std::byte *page_of_it = nullptr;
    {
        Arena arena(16 * page);
        page_of_it = static_cast<std::byte *>(arena.alloc_page());
        EXPECT_TRUE(__asan_address_is_poisoned(page_of_it + page));
    }
    // Whatever is mapped there next begins without marks.
    EXPECT_EQ(__asan_region_is_poisoned(page_of_it, 16 * page), nullptr);
}
#endif

} // namespace
