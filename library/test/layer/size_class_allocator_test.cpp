#include "reap/layer/size_class_allocator.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <vector>

#include "misuse_log.h"
#include "strict_source.h"

namespace {

using reap::Misuse;
using reap::SizeClassAllocator;
using Kinds = std::vector<Misuse>;
using Odd = SizeClassAllocator<reap::CachedPages, 8, 24, 48, 80, 1000>;
using One = SizeClassAllocator<reap::CachedPages, 40>;

static_assert(reap::Source<SizeClassAllocator<>> && reap::AtLeastSource<SizeClassAllocator<>>);
static_assert(!std::is_copy_constructible_v<SizeClassAllocator<>> &&
              !std::is_move_constructible_v<SizeClassAllocator<>> &&
              !std::is_copy_assignable_v<SizeClassAllocator<>>);

/// Every size at every alignment: the smallest class that fits, or none.
template <class Allocator>
void sweep() {
    Allocator allocator;
    using Classes = typename Allocator::Classes;
    for (std::size_t size = 0; size <= Allocator::largest_class + 8; ++size) {
        for (std::size_t alignment = 1; alignment <= 256; alignment *= 2) {
            std::size_t expected = 0;
            for (const std::size_t candidate : Classes::sizes) {
                if (candidate < size || candidate % alignment != 0 || alignment > 64) continue;
                expected = candidate;
                break;
            }
            const reap::Allocation got = allocator.try_allocate_at_least(size, alignment);
            ASSERT_EQ(got.data != nullptr, expected != 0) << size << " at " << alignment;
            if (expected == 0) continue;
            ASSERT_EQ(got.size, expected) << size << " at " << alignment;
            ASSERT_EQ(reap::padding_at(got.data, alignment), 0U);
            std::memset(got.data, 1, got.size);
            allocator.deallocate(got.data, size % 2 == 0 ? size : got.size, alignment);
        }
    }
    EXPECT_EQ(allocator.statistics().live, 0U);
    for (std::size_t below = 0; below <= 4096; ++below) {
        ASSERT_EQ(allocator.try_allocate(SIZE_MAX - below), nullptr);
        ASSERT_EQ(allocator.try_allocate(SIZE_MAX - below, 64), nullptr);
    }
    for (const std::size_t alignment :
         std::vector<std::size_t>{0, 3, 5, 24, 100, SIZE_MAX, std::size_t{1} << 63U}) {
        EXPECT_EQ(allocator.try_allocate(8, alignment), nullptr) << alignment;
        EXPECT_EQ(allocator.try_allocate_at_least(8, alignment).data, nullptr) << alignment;
        EXPECT_THROW((void)allocator.allocate(8, alignment), std::bad_alloc);
    }
    EXPECT_THROW((void)allocator.allocate(Allocator::largest_class + 1), std::bad_alloc);
    EXPECT_THROW((void)allocator.allocate_at_least(Allocator::largest_class + 1), std::bad_alloc);
    allocator.deallocate(nullptr, 8);
}

TEST(SizeClassAllocator, ServesTheSmallestClassThatFits) {
    sweep<SizeClassAllocator<>>();
    sweep<Odd>();
    sweep<One>();
}

TEST(SizeClassAllocator, HandsTheClassSizeBack) {
    SizeClassAllocator allocator;
    for (const auto &[asked, size] : std::vector<std::pair<std::size_t, std::size_t>>{
             {0, 32}, {1, 32}, {32, 32}, {33, 64}, {64, 64}, {65, 128}, {129, 256}, {256, 256}}) {
        const reap::Allocation got = allocator.allocate_at_least(asked);
        EXPECT_EQ(got.size, size);
        allocator.deallocate(got.data, got.size);
    }
}

TEST(SizeClassAllocator, DecidesWhileCompiling) {
    using Classes = SizeClassAllocator<>::Classes;
    static_assert(Classes::find(33, 8) == 1 && Classes::find(8, 64) == 1 && Classes::find(257, 8) == 4);
    static_assert(Classes::find(0, 1) == 0 && Classes::find(8, 0) == 4 && Classes::find(8, 24) == 4);
    static_assert(Odd::Classes::find(25, 16) == 2 && Odd::Classes::find(49, 64) == 5);
}

TEST(SizeClassAllocator, NeverMixesObjects) {
    std::mt19937 random(11); // NOLINT(cert-msc51-cpp)
    Odd allocator;
    struct Object {
        unsigned char *data;
        std::size_t size;
        unsigned char mark;
    };
    std::vector<Object> live;
    for (int step = 0; step < 100000; ++step) {
        if (live.empty() || random() % 8 < (step / 10000 % 2 == 0 ? 5U : 3U)) {
            const std::size_t size = 1 + random() % Odd::largest_class;
            auto *const data = static_cast<unsigned char *>(allocator.allocate(size));
            const auto mark = static_cast<unsigned char>(random());
            std::memset(data, mark, size);
            live.push_back({data, size, mark});
        } else {
            std::swap(live[random() % live.size()], live.back());
            const auto [data, size, mark] = live.back();
            live.pop_back();
            for (std::size_t at = 0; at < size; ++at) ASSERT_EQ(data[at], mark);
            allocator.deallocate(data, size);
        }
    }
    EXPECT_EQ(allocator.statistics().live, live.size());
    allocator.reset();
    EXPECT_EQ(allocator.statistics().live, 0U);
    EXPECT_GT(allocator.statistics().held, 0U);
    allocator.reset(reap::keep_none);
    EXPECT_EQ(allocator.statistics().held, 0U);
}

TEST(SizeClassAllocator, SurvivesEveryFailureOfItsSource) {
    for (const std::size_t failures : std::vector<std::size_t>{std::size_t{1}, SIZE_MAX}) {
        for (std::size_t good = 0; good < 8; ++good) {
            StrictSource source;
            SizeClassAllocator allocator{source};
            source.fail_after(good, failures);
            std::size_t live = 0;
            for (std::size_t i = 0; i < 3000; ++i) {
                const std::size_t size = i % 257;
                if (void *const object = allocator.try_allocate(size); object != nullptr) {
                    std::memset(object, 1, size);
                    ++live;
                }
            }
            EXPECT_EQ(allocator.statistics().live, live);
            source.fail_never();
            EXPECT_NO_THROW((void)allocator.allocate(200));
            EXPECT_EQ(allocator.statistics().held, source.bytes());
        }
    }
}

TEST(CheckedSizeClassAllocator, FindsMisuse) {
    if (!reap::checked) GTEST_SKIP() << "only in checked mode";
    const MisuseLog log;
    SizeClassAllocator allocator;
    void *const object = allocator.allocate(40);
    allocator.deallocate(object, 20);
    allocator.deallocate(object, 39);
    allocator.deallocate(object, 65);
    allocator.deallocate(object, 1000);
    EXPECT_EQ(MisuseLog::take(), Kinds(4, Misuse::wrong_size));
    allocator.deallocate(object, 64);
    allocator.deallocate(object, 64);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::double_free});
    alignas(16) unsigned char stranger[128];
    allocator.deallocate(stranger + 64, 40);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::foreign_free});
    auto *const second = static_cast<unsigned char *>(allocator.allocate(33));
    write_anyway(second + 33, 1);
    allocator.deallocate(second, 33);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::overflow});
    auto *const third = static_cast<unsigned char *>(allocator.allocate(100));
    allocator.deallocate(third, 100);
    write_anyway(third, 1);
    EXPECT_EQ(allocator.allocate(100), third);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::use_after_free});
    write_anyway(second + 33, 0xA9);
}

} // namespace
