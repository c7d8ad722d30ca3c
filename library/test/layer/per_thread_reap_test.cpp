// layer/owned_reap.h, layer/per_thread_reap.h. The lock-free part alone: return_stack_test.cpp.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <vector>

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

template <class Work>
void in_threads(std::size_t count, Work work) {
    std::vector<std::thread> threads;
    threads.reserve(count);
    for (std::size_t number = 0; number < count; ++number) threads.emplace_back(work, number);
    for (std::thread &thread : threads) thread.join();
}
template <class Work>
void elsewhere(Work work) {
    std::thread(work).join();
}

void sign(void *object, std::size_t size, std::uint32_t seed) {
    auto *const bytes = static_cast<unsigned char *>(object);
    for (std::size_t at = 0; at < size; ++at) bytes[at] = static_cast<unsigned char>(seed + at);
}
bool is_signed(const void *object, std::size_t size) {
    const auto *const bytes = static_cast<const unsigned char *>(object);
    for (std::size_t at = 0; at < size; ++at) {
        if (bytes[at] != static_cast<unsigned char>(bytes[0] + at)) return false;
    }
    return true;
}

class Random {
  public:
    explicit Random(std::uint32_t seed) : engine_(seed) {}
    std::uint32_t operator()() { return static_cast<std::uint32_t>(engine_()); }

  private:
    std::mt19937 engine_;
};

/// Sizes as programs have them: mostly small, some of more than a kilobyte, few large.
std::size_t draw_size(Random &random) {
    const std::uint32_t kind = random() % 1000;
    if (kind < 900) return 1 + random() % 300;
    if (kind < 997) return 1 + random() % 5000;
    return 1 + random() % 400000;
}

/// Checked mode fills all that is free, which takes most of the time.
constexpr int stress_steps = reap::checked ? 400 : 2000;

/// What a thread hands to another.
struct Parcel {
    void *object = nullptr;
    std::size_t size = 0;
};

/// Where threads put parcels, and find what others put there.
class Exchange {
  public:
    Parcel swap(std::size_t at, Parcel parcel) {
        Place &place = places_[at % places_.size()];
        const std::scoped_lock lock(place.mutex);
        std::swap(parcel, place.parcel);
        return parcel;
    }
    template <class Use>
    void empty(Use use) {
        for (std::size_t at = 0; at < places_.size(); ++at)
            if (const Parcel parcel = swap(at, {}); parcel.object != nullptr) use(parcel);
    }

  private:
    struct Place {
        std::mutex mutex;
        Parcel parcel;
    };
    std::array<Place, 64> places_;
};

template <class Reaps>
void free_checked(const Parcel &parcel, std::uint32_t how) {
    if (parcel.object == nullptr) return;
    ASSERT_TRUE(is_signed(parcel.object, parcel.size));
    if (how % 2 == 0)
        Reaps::deallocate(parcel.object);
    else
        Reaps::deallocate(parcel.object, parcel.size);
}

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
    // None of them is handed out twice.
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
