#include "reap/source/limit.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <new>
#include <thread>
#include <type_traits>
#include <vector>

#include "misuse_log.h"
#include "reap/layer/region.h"
#include "reap/source/buffer.h"
#include "source_contract.h"
#include "strict_source.h"

namespace {

using reap::AtomicQuota;
using reap::Limit;
using reap::Quota;

static_assert(reap::ThrowingSource<Limit<>> && !reap::OwningSource<Limit<>>);
static_assert(reap::OwningSource<Limit<reap::Ref<reap::Buffer>>>);
static_assert(!std::is_copy_constructible_v<Limit<>> && !std::is_move_constructible_v<Limit<>>);

template <class Q>
void expect_a_quota() {
    Q quota(100);
    EXPECT_TRUE(quota.take(60));
    EXPECT_FALSE(quota.take(41));
    EXPECT_TRUE(quota.take(40));
    quota.set_limit(50);
    EXPECT_FALSE(quota.take(0)) << "above its limit already";
    quota.refund(60);
    EXPECT_TRUE(quota.take(10));
    EXPECT_FALSE(quota.take(SIZE_MAX));
    EXPECT_EQ(quota.used(), 50U);
}

TEST(Quota, GivesWhatThereIsAndNoMore) {
    expect_a_quota<reap::Quota>();
    expect_a_quota<reap::AtomicQuota>();
}

TEST(Limit, IsReachedToTheByteAndRefunded) {
    StrictSource source;
    Limit limit(source, 100);
    void *const most = limit.allocate(99, 1);
    void *const last = limit.allocate(0, 1);
    EXPECT_EQ(limit.quota().used(), 100U);
    EXPECT_EQ(limit.try_allocate(0, 1), nullptr);
    EXPECT_THROW((void)limit.allocate(1, 1), std::bad_alloc);
    limit.deallocate(last, 0, 1);
    EXPECT_EQ(limit.quota().used(), 99U);
    EXPECT_EQ(limit.try_allocate(2, 1), nullptr);
    limit.deallocate(most, 99, 1);
    limit.deallocate(nullptr, 7, 1);
    EXPECT_EQ(limit.quota().used(), 0U);
    EXPECT_EQ(limit.quota().peak(), 100U);
    EXPECT_TRUE(serves(limit, 100, 1));
}

TEST(Limit, CostsNothingWhereARequestFails) {
    StrictSource source;
    Quota parent(50);
    Limit limit(source, 100, &parent);
    source.fail_after(0, 2);
    EXPECT_THROW((void)limit.allocate(40, 8), StrictFailure);
    EXPECT_EQ(limit.try_allocate(40, 8), nullptr);
    EXPECT_EQ(limit.try_allocate(60, 8), nullptr) << "the parent has no more than 50";
    EXPECT_EQ(limit.try_allocate(8, 3), nullptr);
    EXPECT_EQ(limit.try_allocate(SIZE_MAX, 8), nullptr);
    EXPECT_EQ(limit.quota().used(), 0U);
    EXPECT_EQ(limit.quota().peak(), 0U);
    EXPECT_EQ(parent.used(), 0U);
    EXPECT_EQ(parent.peak(), 0U);
    EXPECT_TRUE(serves(limit, 50, 8));
    EXPECT_EQ(parent.peak(), 50U);
}

TEST(Limit, IsSharedByManyBelowOneParent) {
    StrictSource source;
    Limit tenant(source, 100);
    Limit first(source, 80, &tenant.quota());
    Limit second(source, 80, &tenant.quota());
    void *const here = first.allocate(70, 8);
    EXPECT_EQ(second.try_allocate(31, 8), nullptr);
    void *const there = second.allocate(30, 8);
    EXPECT_EQ(tenant.quota().used(), 100U);
    EXPECT_EQ(tenant.try_allocate(1, 8), nullptr);
    first.deallocate(here, 70, 8);
    EXPECT_EQ(tenant.quota().used(), 30U);
    EXPECT_EQ(second.try_allocate(51, 8), nullptr) << "its own limit";
    second.deallocate(there, 30, 8);

    Limit above(tenant, 1000);
    EXPECT_EQ(above.try_allocate(101, 8), nullptr);
    EXPECT_EQ(above.quota().used(), 0U);
    EXPECT_TRUE(serves(above, 100, 8));
}

TEST(Limit, RefundsItsParentAtItsEnd) {
    std::byte memory[100];
    Quota parent(100);
    {
        reap::Buffer buffer(memory);
        Limit limit(buffer, 100, &parent);
        (void)limit.try_allocate(10, 1);
    }
    EXPECT_EQ(parent.used(), 0U);
}

TEST(Limit, MayBeLowered) {
    StrictSource source;
    Limit limit(source, 100);
    void *const data = limit.allocate(80, 8);
    limit.quota().set_limit(50);
    EXPECT_EQ(limit.try_allocate(1, 8), nullptr);
    limit.deallocate(data, 80, 8);
    EXPECT_TRUE(serves(limit, 50, 8));
    EXPECT_FALSE(serves(limit, 51, 8));
}

TEST(Limit, KeepsTheContract) {
    StrictSource source;
    Limit limit(source, std::size_t{1} << 30);
    expect_boundaries(limit, 1U << 16U, std::size_t{2} << 20);
    expect_separate(limit, 6);
    expect_region(limit, 200000);
    EXPECT_EQ(limit.quota().used(), 0U);
    EXPECT_EQ(source.bytes(), 0U);
}

TEST(Limit, HoldsARegionToIt) {
    StrictSource source;
    Limit limit(source, 100000);
    reap::Region region(limit);
    while (region.try_allocate(100) != nullptr) {
    }
    EXPECT_LE(source.bytes(), 100000U);
    EXPECT_EQ(source.bytes(), limit.quota().used());
    region.reset(reap::keep_none);
    EXPECT_EQ(limit.quota().used(), 0U);
    EXPECT_NE(region.try_allocate(100), nullptr);
}

TEST(Limit, FindsAFreeOfMoreThanThereIs) {
    if (!reap::checked) GTEST_SKIP() << "only in checked mode";
    const MisuseLog log;
    StrictSource source;
    Limit limit(source, 100);
    void *const data = limit.allocate(10, 8);
    limit.deallocate(data, 11, 8);
    EXPECT_EQ(MisuseLog::take(), std::vector{reap::Misuse::wrong_size});
    limit.deallocate(data, 10, 8);
}

TEST(AtomicLimit, IsKeptByManyThreads) {
    static constexpr std::size_t most = 40000;
    AtomicQuota shared(most);
    const auto work = [&shared] {
        Limit limit(std::size_t{1} << 20, &shared);
        std::array<void *, 4> held = {};
        for (int round = 0; round < 3000; ++round) {
            for (auto &data : held) data = limit.try_allocate(4096, 16);
            EXPECT_LE(shared.used(), most);
            for (auto *const data : held) limit.deallocate(data, 4096, 16);
        }
    };
    std::vector<std::thread> threads(4);
    for (auto &thread : threads) thread = std::thread(work);
    for (auto &thread : threads) thread.join();
    EXPECT_EQ(shared.used(), 0U);
    EXPECT_GT(shared.peak(), 0U);
    EXPECT_LE(shared.peak(), most);
}

} // namespace
