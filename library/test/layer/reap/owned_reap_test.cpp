// layer/owned_reap.h, layer/per_thread_reap.h. The lock-free part alone: return_stack_test.cpp.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <set>
#include <thread>
#include <vector>

#include "layer/reap/threads.h"
#include "reap/layer/locked.h"
#include "reap/layer/per_thread_reap.h"
#include "strict_source.h"

namespace {

using reap::Locked;
using reap::Misuse;
using reap::OwnedReap;
using reap::PerThreadReap;
using reap::ReapOptions;
using reap::Ref;
using Kinds = std::vector<Misuse>;
using SharedStrict = Locked<StrictSource>;

static_assert(reap::Source<PerThreadReap<>> && reap::AtLeastSource<PerThreadReap<>>);
static_assert(reap::Source<OwnedReap<>> && reap::ThrowingSource<OwnedReap<>>);
static_assert(!std::is_move_constructible_v<PerThreadReap<>> && !std::is_move_constructible_v<OwnedReap<>>);
static_assert(std::is_same_v<PerThreadReap<>, reap::PerThread<reap::Reap<>>>);

TEST(OwnedReap, IsAReapToItsOwner) {
    OwnedReap<> reap;
    EXPECT_TRUE(reap.is_mine());
    std::vector<Parcel> all;
    Random random(1);
    for (int i = 0; i < 3000; ++i) {
        const std::size_t size = draw_size(random);
        void *const object = reap.allocate(size, std::size_t{8} << (i % 5));
        sign(object, size, static_cast<std::uint32_t>(i));
        EXPECT_TRUE(reap.owns(object));
        EXPECT_GE(OwnedReap<>::usable_size(object), size);
        all.push_back({object, size});
    }
    std::size_t seen = 0;
    reap.for_each([&](const void *, std::size_t) { ++seen; });
    EXPECT_EQ(seen, all.size());
    for (std::size_t at = 0; at < all.size(); at += 2) {
        all[at].object = reap.reallocate(all[at].object, all[at].size + 100);
        EXPECT_TRUE(is_signed(all[at].object, all[at].size));
    }
    for (const Parcel &parcel : all) free_checked<OwnedReap<>>(parcel, 0);
    EXPECT_TRUE(reap.check());
    EXPECT_EQ(reap.statistics().live, 0U);
    reap.trim();
    EXPECT_EQ(reap.try_allocate(8, 3), nullptr);
    EXPECT_THROW((void)reap.allocate(SIZE_MAX), std::bad_alloc);
    OwnedReap<>::deallocate(nullptr);
    EXPECT_GE(reap.try_allocate_at_least(5).size, 5U);
}

TEST(OwnedReap, GetsBackWhatOthersFree) {
    OwnedReap<> reap;
    std::vector<void *> all(5000);
    std::size_t held = 0;
    for (int round = 0; round < 10; ++round) {
        for (void *&object : all) sign(object = reap.allocate(100), 100, 3);
        elsewhere([&] {
            for (void *object : all) {
                ASSERT_TRUE(is_signed(object, 100));
                OwnedReap<>::deallocate(object);
            }
        });
        if (round == 1) held = reap.statistics().held;
    }
    EXPECT_LE(reap.statistics().held, held);
    EXPECT_EQ(reap.statistics().live, 0U);
    EXPECT_TRUE(reap.check());
}

// Where an object lies must not matter to whose it is: in any chunk, with memory of its own, however aligned.
TEST(OwnedReap, KnowsItsObjectsWhateverTheirSizeAndAlignment) {
    OwnedReap<> reap;
    OwnedReap<> other;
    constexpr std::size_t factor = reap::checked ? 128 : 2; // checked mode fills what lies between as well
    for (std::size_t alignment = 1; alignment <= std::size_t{2} << 20U; alignment *= factor) {
        for (const std::size_t size : {std::size_t{1}, std::size_t{100}, std::size_t{3000},
                                       std::size_t{300000}, std::size_t{3000000}}) {
            void *const object = reap.allocate(size, alignment);
            std::memset(object, 0xFF, size);
            (void)other.allocate(size, alignment);
            elsewhere([=] { OwnedReap<>::deallocate(object); });
        }
        EXPECT_EQ(reap.statistics().live, 0U) << alignment;
    }
    EXPECT_TRUE(reap.check());
    EXPECT_GT(other.statistics().live, 0U);
}

TEST(OwnedReap, GivesLargeObjectsBackWhenItsOwnerAllocates) {
    SharedStrict source;
    OwnedReap reap{source};
    static_assert(std::is_same_v<decltype(reap), OwnedReap<Ref<SharedStrict>>>);
    void *const large = reap.allocate(std::size_t{8} << 20U);
    (void)reap.allocate(10);
    const std::size_t before = source.with([](StrictSource &strict) { return strict.bytes(); });
    elsewhere([=] { OwnedReap<Ref<SharedStrict>>::deallocate(large); });
    (void)reap.allocate(std::size_t{1} << 20U); // not at hand, so it looks
    EXPECT_LT(source.with([](StrictSource &strict) { return strict.bytes(); }), before);
}

TEST(OwnedReap, IsHandedFromThreadToThread) {
    OwnedReap<> reap;
    std::vector<Parcel> all;
    for (std::uint32_t turn = 0; turn < 8; ++turn) {
        const auto work = [&] {
            ASSERT_TRUE(reap.take_over());
            ASSERT_TRUE(reap.is_mine());
            Random random(turn);
            for (int i = 0; i < 500; ++i) {
                const std::size_t size = draw_size(random);
                void *const object = reap.allocate(size);
                sign(object, size, turn);
                all.push_back({object, size});
                if (i % 3 != 0) continue;
                std::swap(all[random() % all.size()], all.back());
                free_checked<OwnedReap<>>(all.back(), random());
                all.pop_back();
            }
            ASSERT_TRUE(reap.check());
            reap.release();
        };
        if (turn == 0)
            work();
        else
            elsewhere(work);
    }
    EXPECT_FALSE(reap.is_mine());
    ASSERT_TRUE(reap.take_over());
    elsewhere([&] { EXPECT_FALSE(reap.take_over()); });
    for (const Parcel &parcel : all) free_checked<OwnedReap<>>(parcel, 0);
    EXPECT_EQ(reap.statistics().live, 0U);
}

// No order but the hand over's own: the next owner waits for nothing else.
TEST(OwnedReap, OrdersOwnersByTheHandOverAlone) {
    OwnedReap<> reap;
    std::size_t shared = 0;
    reap.release();
    std::atomic<int> arrived{0};
    in_threads(3, [&](std::size_t number) {
        ++arrived;
        while (arrived < 3) std::this_thread::yield();
        for (int i = 0; i < 200; ++i) {
            while (!reap.take_over()) std::this_thread::yield();
            ++shared;
            void *const object = reap.allocate(40 * (number + 1));
            sign(object, 40 * (number + 1), 1);
            if (i % 2 == 0) OwnedReap<>::deallocate(object);
            reap.release();
            if (i % 8 == 0) std::this_thread::yield();
        }
    });
    ASSERT_TRUE(reap.take_over());
    EXPECT_EQ(shared, 600U);
    EXPECT_TRUE(reap.check());
}

TEST(OwnedReap, ForgetsWhatWaitsWhenItIsReset) {
    OwnedReap<> reap;
    std::vector<void *> all(3000);
    std::size_t held = 0;
    for (int round = 0; round < 5; ++round) {
        for (void *&object : all) sign(object = reap.allocate(48), 48, 1);
        void *const large = reap.allocate(1000000);
        elsewhere([&] {
            for (std::size_t at = 0; at < all.size(); at += 2) OwnedReap<>::deallocate(all[at]);
            OwnedReap<>::deallocate(large);
        });
        if (round == 1) held = reap.statistics().held;
        for (int i = 0; i < 10; ++i) (void)reap.allocate(48);
        reap.reset();
        EXPECT_EQ(reap.statistics().live, 0U);
        EXPECT_TRUE(reap.check());
    }
    EXPECT_LE(reap.statistics().held, held);
    // None of them is allocated twice.
    std::set<void *> seen;
    for (int i = 0; i < 5000; ++i) EXPECT_TRUE(seen.insert(reap.allocate(48)).second);
}

TEST(OwnedReap, LivesOnUntilItsLastObjectIsFreed) {
    SharedStrict source;
    const auto held = [&] { return source.with([](StrictSource &strict) { return strict.bytes(); }); };
    using Mine = OwnedReap<Ref<SharedStrict>>;
    std::vector<Parcel> all;
    auto reap = Mine::make(Ref{source});
    Random random(7);
    for (int i = 0; i < 2000; ++i) {
        const std::size_t size = draw_size(random);
        all.push_back({reap->allocate(size, std::size_t{8} << (i % 4)), size});
        sign(all.back().object, size, 1);
    }
    // Some before, by both; some wait when it is abandoned; and the rest afterwards.
    for (int i = 0; i < 300; ++i) {
        free_checked<Mine>(all.back(), random());
        all.pop_back();
    }
    elsewhere([&] {
        for (int i = 0; i < 300; ++i) {
            free_checked<Mine>(all.back(), random());
            all.pop_back();
        }
    });
    Mine::abandon(std::move(reap));
    EXPECT_EQ(reap, nullptr);
    while (all.size() > 1) {
        free_checked<Mine>(all.back(), random());
        all.pop_back();
    }
    EXPECT_GT(held(), 0U);
    elsewhere([&] { free_checked<Mine>(all.back(), 0); });
    EXPECT_EQ(held(), 0U);

    // With nothing in it, and with nothing that was ever in it.
    reap = Mine::make(Ref{source});
    void *const object = reap->allocate(10);
    elsewhere([=] { Mine::deallocate(object); });
    Mine::abandon(std::move(reap));
    EXPECT_EQ(held(), 0U);
    Mine::abandon(Mine::make(Ref{source}));
    Mine::abandon(nullptr);
    (void)Mine::make(Ref{source}, ReapOptions{.first_chunk = 65536})->allocate(10);
    EXPECT_EQ(held(), 0U);
}

// The end is raced for: by who abandons, and those who free.
TEST(OwnedReap, IsAbandonedWhileOthersFree) {
    SharedStrict source;
    using Mine = OwnedReap<Ref<SharedStrict>>;
    for (std::uint32_t round = 0; round < 60; ++round) {
        auto reap = Mine::make(Ref{source});
        std::array<std::vector<Parcel>, 3> shares;
        Random random(round);
        for (std::size_t i = 0; i < 150; ++i) {
            const std::size_t size = draw_size(random);
            shares[i % 3].push_back({reap->allocate(size), size});
            sign(shares[i % 3].back().object, size, round);
        }
        std::atomic<int> ready{0};
        const auto wait = [&] {
            ++ready;
            while (ready < 4) std::this_thread::yield();
        };
        std::thread owner([&, mine = std::move(reap)]() mutable {
            wait();
            Mine::abandon(std::move(mine));
        });
        in_threads(3, [&](std::size_t number) {
            wait();
            for (const Parcel &parcel : shares[number]) free_checked<Mine>(parcel, round);
        });
        owner.join();
        EXPECT_EQ(source.with([](StrictSource &strict) { return strict.bytes(); }), 0U);
    }
}

TEST(OwnedReap, SurvivesFailuresOfItsSource) {
    SharedStrict source;
    const auto fail = [&](std::size_t calls, std::size_t failures) {
        source.with([=](StrictSource &strict) { strict.fail_after(calls, failures); });
    };
    OwnedReap<Ref<SharedStrict>> reap{Ref{source}};
    fail(0, SIZE_MAX);
    EXPECT_EQ(reap.try_allocate(10), nullptr);
    EXPECT_EQ(reap.try_allocate(10000000), nullptr);
    EXPECT_THROW((void)reap.allocate(10), StrictFailure);
    EXPECT_THROW((void)reap.allocate(10000000), StrictFailure);
    fail(SIZE_MAX, 0);
    void *const object = reap.allocate(10);
    void *const large = reap.allocate(10000000);
    elsewhere([=] {
        OwnedReap<Ref<SharedStrict>>::deallocate(object);
        OwnedReap<Ref<SharedStrict>>::deallocate(large);
    });
    EXPECT_EQ(reap.statistics().live, 0U);
}

TEST(OwnedReap, FreesNullAtNoCost) {
    OwnedReap<>::deallocate(nullptr);
    OwnedReap<>::deallocate(nullptr, 100);
}

TEST(OwnedReap, WalksWhileAnotherThreadFrees) {
    auto reap = OwnedReap<>::make();
    std::vector<void *> objects(2000);
    for (auto &object : objects) object = reap->allocate(40);
    std::thread other([&] {
        for (void *const object : objects) OwnedReap<>::deallocate(object);
    });
    std::size_t seen = objects.size();
    while (seen > 0) {
        std::size_t now = 0;
        reap->for_each([&](const void * /*object*/, std::size_t size) { now += size >= 40; });
        ASSERT_LE(now, seen);
        seen = now;
    }
    other.join();
    // What it is told of may be freed.
    for (auto &object : objects) object = reap->allocate(40);
    reap->for_each([&](void *object, std::size_t /*size*/) { OwnedReap<>::deallocate(object); });
    EXPECT_EQ(reap->statistics().live, 0U);
}

} // namespace
