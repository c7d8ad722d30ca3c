// layer/owned_reap.h, layer/per_thread_reap.h. The lock-free part alone: return_stack_test.cpp.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

#include "layer/reap/threads.h"
#include "misuse_log.h"
#include "reap/layer/locked.h"
#include "reap/layer/per_thread_reap.h"
#include "reap/testkit/failing_source.h"
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

TEST(PerThreadReap, HasNothingForAThreadWhileThereIsNoMemory) {
    using reap::testkit::FailingSource;
    FailingSource<> source;
    reap::PerThread<reap::Reap<Ref<FailingSource<>>>> reap{Ref(source)};
    source.fail_from(0);
    EXPECT_EQ(reap.try_allocate(40), nullptr);
    EXPECT_EQ(reap.try_allocate_at_least(40).data, nullptr);
    EXPECT_EQ(reap.try_reallocate(nullptr, 40), nullptr);
    EXPECT_THROW((void)reap.allocate(40), std::bad_alloc);
    source.succeed();
    void *const object = reap.allocate(40);
    EXPECT_NE(reap.try_allocate(40), nullptr);
    EXPECT_NE(reap.try_allocate_at_least(40).data, nullptr);
    void *const moved = reap.try_reallocate(object, 400);
    EXPECT_TRUE(reap.owns(moved));
    EXPECT_FALSE(reap.owns(&source));
}

TEST(PerThreadReap, GivesEachThreadAReapOfItsOwn) {
    PerThreadReap<> reaps(ReapOptions{.first_chunk = 16384});
    std::atomic<int> arrived{0};
    in_threads(4, [&](std::size_t number) {
        sign(reaps.allocate(100 * (number + 1)), 100, 1);
        EXPECT_TRUE(reaps.local().is_mine());
        EXPECT_EQ(reaps.local().options().first_chunk, 16384U);
        ++arrived;
        while (arrived < 4) std::this_thread::yield();
    });
    std::size_t count = 0;
    reaps.each([&](auto &reap) {
        ++count;
        EXPECT_FALSE(reap.is_mine());
        EXPECT_EQ(reap.statistics().chunks, 1U);
    });
    EXPECT_EQ(count, 4U);
    EXPECT_EQ(reaps.statistics().chunks, 4U);
    EXPECT_TRUE(reaps.check());
    void *const mine = reaps.allocate(10);
    EXPECT_TRUE(reaps.owns(mine));
    EXPECT_FALSE(reaps.owns(&arrived));
    reaps.reset(reap::keep_none);
    EXPECT_EQ(reaps.statistics().held, 0U);
}

TEST(PerThreadReap, HandsWhatAThreadLeftToTheNext) {
    PerThreadReap<> reaps;
    std::vector<void *> all(3000);
    elsewhere([&] {
        for (void *&object : all) object = reaps.allocate(100);
    });
    const std::size_t held = reaps.statistics().held;
    for (void *object : all) PerThreadReap<>::deallocate(object, 100);
    elsewhere([&] {
        for (void *&object : all) sign(object = reaps.allocate(100), 100, 5);
        for (void *object : all) PerThreadReap<>::deallocate(object);
    });
    EXPECT_EQ(reaps.statistics().held, held);
    EXPECT_EQ(reaps.statistics().live, 0U);
}

TEST(PerThreadReap, MovesWhatAnotherThreadAllocated) {
    PerThreadReap<> reaps;
    void *object = nullptr;
    std::thread other([&] {
        object = reaps.allocate(100);
        sign(object, 100, 9);
    });
    other.join();
    (void)reaps.allocate(1); // may be the reap that the other left
    std::atomic<int> step{0};
    void *moved = nullptr;
    std::thread late([&] {
        void *const mine = reaps.allocate(100);
        sign(mine, 100, 9);
        object = mine;
        step = 1;
        while (step < 2) std::this_thread::yield();
    });
    while (step < 1) std::this_thread::yield();
    moved = reaps.reallocate(object, 5000);
    EXPECT_TRUE(is_signed(moved, 100));
    EXPECT_TRUE(reaps.local().owns(moved));
    moved = reaps.try_reallocate(moved, 10);
    EXPECT_TRUE(is_signed(moved, 10));
    EXPECT_EQ(reaps.try_reallocate(moved, SIZE_MAX), nullptr);
    step = 2;
    late.join();
    PerThreadReap<>::deallocate(moved);
    sign(reaps.reallocate(nullptr, 20), 20, 1);
}

// Threads hand each other objects, free what they find, end, and others come: nothing is mixed up, and all is
// back at the end.
TEST(PerThreadReap, MixesNothingUpUnderStress) {
    for (std::uint32_t seed = 1; seed <= 2; ++seed) {
        SCOPED_TRACE(seed);
        PerThreadReap<> reaps;
        Exchange exchange;
        for (std::uint32_t generation = 0; generation < 3; ++generation) {
            in_threads(4, [&](std::size_t number) {
                Random random(seed * 100 + generation * 10 + static_cast<std::uint32_t>(number));
                for (int step = 0; step < stress_steps; ++step) {
                    Parcel parcel;
                    parcel.size = draw_size(random);
                    parcel.object = reaps.allocate(parcel.size);
                    sign(parcel.object, parcel.size, random());
                    parcel = exchange.swap(random(), parcel);
                    if (random() % 50 == 0) parcel.object = reaps.reallocate(parcel.object, parcel.size);
                    free_checked<PerThreadReap<>>(parcel, random());
                }
            });
        }
        exchange.empty([](const Parcel &parcel) { free_checked<PerThreadReap<>>(parcel, 0); });
        EXPECT_TRUE(reaps.check());
        EXPECT_EQ(reaps.statistics().live, 0U);
        EXPECT_TRUE(reaps.check());
        std::size_t count = 0;
        reaps.each([&](const auto &) { ++count; });
        EXPECT_LE(count, 5U);
    }
}

// It ends, with all its reaps, while others free what they have of it; and is used on, as a new one.
TEST(PerThreadReap, IsAbandonedWhileOthersFree) {
    SharedStrict source;
    using Reaps = PerThreadReap<Ref<SharedStrict>>;
    for (std::uint32_t round = 0; round < 20; ++round) {
        Exchange exchange;
        std::vector<std::thread> freers;
        std::atomic<bool> done{false};
        {
            Reaps reaps{Ref{source}};
            in_threads(3, [&](std::size_t number) {
                Random random(round * 10 + static_cast<std::uint32_t>(number));
                for (int i = 0; i < 100; ++i) {
                    Parcel parcel;
                    parcel.size = draw_size(random);
                    parcel.object = reaps.allocate(parcel.size);
                    sign(parcel.object, parcel.size, random());
                    free_checked<Reaps>(exchange.swap(random(), parcel), random());
                }
            });
            for (std::uint32_t number = 0; number < 2; ++number) {
                freers.emplace_back([&, number] {
                    Random random(number);
                    while (!done) free_checked<Reaps>(exchange.swap(random(), {}), random());
                });
            }
            if (round % 2 == 0) std::this_thread::yield();
            reaps.abandon();
            EXPECT_EQ(reaps.statistics().held, 0U);
            void *const object = reaps.allocate(100);
            sign(object, 100, 1);
            if (round % 3 == 0) Reaps::deallocate(object);
        }
        exchange.empty([](const Parcel &parcel) { free_checked<Reaps>(parcel, 1); });
        done = true;
        for (std::thread &freer : freers) freer.join();
        EXPECT_EQ(source.with([](StrictSource &strict) { return strict.bytes(); }), 0U);
    }
}

TEST(PerThreadReap, MayEndWhileThreadsEnd) {
    for (int round = 0; round < 50; ++round) {
        std::vector<std::thread> threads;
        std::atomic<int> used{0};
        {
            PerThreadReap<> reaps;
            for (int i = 0; i < 3; ++i) {
                threads.emplace_back([&] {
                    PerThreadReap<>::deallocate(reaps.allocate(64));
                    (void)reaps.allocate(64);
                    ++used; // the last that this thread does here
                });
            }
            while (used < 3) std::this_thread::yield();
        }
        for (std::thread &thread : threads) thread.join();
    }
}

// As contended as can be: three threads do nothing but free what one allocates.
TEST(PerThreadReap, LosesNoObjectUnderContention) {
    PerThreadReap<> reaps;
    constexpr std::size_t freers = 3;
    std::array<std::atomic<void *>, freers> mailbox{};
    std::atomic<bool> done{false};
    std::vector<std::thread> threads;
    threads.reserve(freers);
    for (std::size_t number = 0; number < freers; ++number) {
        threads.emplace_back([&, number] {
            for (;;) {
                if (void *const object = mailbox[number].exchange(nullptr, std::memory_order_acquire)) {
                    ASSERT_TRUE(is_signed(object, 64));
                    PerThreadReap<>::deallocate(object);
                } else if (done) {
                    return;
                }
            }
        });
    }
    for (std::size_t round = 0; round < 20000; ++round) {
        void *object = reaps.allocate(64);
        sign(object, 64, static_cast<std::uint32_t>(round));
        object = mailbox[round % freers].exchange(object, std::memory_order_acq_rel);
        PerThreadReap<>::deallocate(object);
    }
    done = true;
    for (std::thread &thread : threads) thread.join();
    for (const auto &box : mailbox) PerThreadReap<>::deallocate(box.load());
    EXPECT_TRUE(reaps.check());
    EXPECT_EQ(reaps.statistics().live, 0U);
    EXPECT_TRUE(reaps.check());
}

TEST(CheckedReapThreads, FindsMisuseAcrossThreads) {
    if (!reap::checked) GTEST_SKIP() << "only in checked mode";
    const MisuseLog log;
    PerThreadReap<> reaps;
    auto *const object = static_cast<unsigned char *>(reaps.allocate(40));
    void *const other = reaps.allocate(40);
    elsewhere([&] { PerThreadReap<>::deallocate(object); });
    elsewhere([&] { PerThreadReap<>::deallocate(object); });
    PerThreadReap<>::deallocate(object);
    EXPECT_EQ(MisuseLog::take(), Kinds(2, Misuse::double_free));
    elsewhere([&] {
        PerThreadReap<>::deallocate(other, 41);
        PerThreadReap<>::deallocate(static_cast<unsigned char *>(other) + 16);
    });
    EXPECT_EQ(MisuseLog::take(), (Kinds{Misuse::wrong_size, Misuse::interior_free}));
    elsewhere([&] {
        write_anyway(static_cast<unsigned char *>(other) + 40, 1);
        PerThreadReap<>::deallocate(other);
    });
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::overflow});
    write_anyway(static_cast<unsigned char *>(other) + 40, 0xA9);
    alignas(16) static unsigned char stranger[64];
    elsewhere([&] {
        PerThreadReap<>::deallocate(stranger + 16);
        (void)reaps.reallocate(stranger + 16, 10);
    });
    EXPECT_EQ(MisuseLog::take(), Kinds(2, Misuse::foreign_free));
    // A reap that was abandoned still reports.
    auto reap = OwnedReap<>::make();
    auto *const left = static_cast<unsigned char *>(reap->allocate(40));
    void *const last = reap->allocate(40);
    OwnedReap<>::abandon(std::move(reap));
    elsewhere([&] { OwnedReap<>::deallocate(left); });
    elsewhere([&] { OwnedReap<>::deallocate(left); });
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::double_free});
    OwnedReap<>::deallocate(last);
    OwnedReap<>::deallocate(last);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::foreign_free});
}

void read_while_another_frees() {
    PerThreadReap<> reaps;
    auto *const object = static_cast<unsigned char *>(reaps.allocate(64));
    std::memset(object, 1, 64);
    std::atomic<int> turn{0};
    std::thread reader([&] {
        const volatile unsigned char *const bytes = object;
        (void)bytes[40];
        turn.store(1, std::memory_order_relaxed); // no order: that is the fault
    });
    while (turn.load(std::memory_order_relaxed) == 0) std::this_thread::yield();
    PerThreadReap<>::deallocate(object);
    reader.join();
}

TEST(ReapThreadsDeathTest, ThreadSanitizerFindsARaceWithTheFree) {
    if (!REAP_TSAN) GTEST_SKIP() << "only with ThreadSanitizer";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            read_while_another_frees();
            std::exit(0);
        },
        testing::ExitedWithCode(66), "data race");
}

} // namespace
