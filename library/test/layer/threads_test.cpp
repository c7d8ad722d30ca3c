// The thread policies: layer/locked.h, layer/thread/thread_home.h, layer/thread/remote_free.h,
// layer/per_thread.h.

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "misuse_log.h"
#include "reap/layer/locked.h"
#include "reap/layer/per_class.h"
#include "reap/layer/per_thread.h"
#include "reap/layer/region.h"
#include "sandbox.h"
#include "strict_source.h"
#include "watched.h"

namespace {

using reap::FixedBlock;
using reap::FixedBlockOptions;
using reap::Locked;
using reap::Misuse;
using reap::PerThread;
using reap::Ref;
using reap::Region;
using reap::SizeClassAllocator;
using Kinds = std::vector<Misuse>;

static_assert(reap::Source<Locked<Region<>>> && reap::ThrowingSource<Locked<Region<>>>);
static_assert(reap::Source<Locked<FixedBlock<>>> && reap::AtLeastSource<Locked<SizeClassAllocator<>>>);
static_assert(reap::Source<PerThread<FixedBlock<>>> && reap::AtLeastSource<PerThread<SizeClassAllocator<>>>);
static_assert(!std::is_move_constructible_v<Locked<Region<>>> &&
              !std::is_move_constructible_v<PerThread<Region<>>> &&
              !std::is_move_constructible_v<PerThread<FixedBlock<>>> &&
              !std::is_copy_constructible_v<PerThread<SizeClassAllocator<>>>);

/// Runs work(number) in so many threads, and waits for them.
template <class Work>
void in_threads(std::size_t count, Work work) {
    std::vector<std::thread> threads;
    threads.reserve(count);
    for (std::size_t number = 0; number < count; ++number) threads.emplace_back(work, number);
    for (std::thread &thread : threads) thread.join();
}

/// Runs work in another thread, which ends before this returns.
template <class Work>
void elsewhere(Work work) {
    std::thread(work).join();
}

/// What a thread writes into its objects, and another finds.
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

TEST(Locked, LetsThreadsShareALayer) {
    Locked<FixedBlock<>> blocks(64U);
    in_threads(4, [&](std::size_t number) {
        for (int i = 0; i < 2000; ++i) {
            void *const block = blocks.allocate();
            sign(block, 64, static_cast<std::uint32_t>(number));
            ASSERT_TRUE(is_signed(block, 64));
            blocks.deallocate(block);
        }
    });
    EXPECT_EQ(blocks.statistics().live, 0U);
    void *const block = blocks.try_allocate();
    EXPECT_TRUE(blocks.owns(block));
    blocks.reset(reap::keep_none);
    EXPECT_EQ(blocks.with([](FixedBlock<> &layer) { return layer.statistics().held; }), 0U);
}

TEST(Locked, IsASourceForTheLayersOfSeveralThreads) {
    Locked<Region<>> pages;
    in_threads(4, [&](std::size_t number) {
        Region<Ref<Locked<Region<>>>> mine{pages};
        for (int i = 0; i < 500; ++i) sign(mine.allocate(100), 100, static_cast<std::uint32_t>(number));
    });
    Locked<reap::PerClass<int>> objects;
    int *const object = objects.with([](auto &layer) { return layer.create(7); });
    objects.deallocate(object);
}

TEST(PerThread, GivesEachThreadALayerOfItsOwn) {
    PerThread<Region<>> regions;
    std::mutex mutex;
    std::set<const void *> seen;
    std::atomic<int> arrived{0};
    in_threads(4, [&](std::size_t /*number*/) {
        Region<> &mine = regions.local();
        EXPECT_EQ(&mine, &regions.local());
        (void)regions.allocate(100U);
        {
            const std::scoped_lock lock(mutex);
            EXPECT_TRUE(seen.insert(&mine).second);
        }
        // All live at one time, so none takes over what another left.
        ++arrived;
        while (arrived < 4) std::this_thread::yield();
    });
    std::size_t count = 0;
    regions.each([&](Region<> &region) {
        ++count;
        region.reset();
    });
    EXPECT_EQ(count, 4U);
}

TEST(PerThread, HandsWhatAThreadLeftToTheNext) {
    PerThread regions{[] { return Region<>(reap::RegionOptions{.first_chunk = 20000}); }};
    static_assert(std::is_same_v<decltype(regions.local()), Region<> &>);
    const void *first = nullptr;
    elsewhere([&] {
        first = &regions.local();
        EXPECT_GT(regions.local().options().first_chunk, 19999U);
        sign(regions.allocate(1000U), 1000, 1);
    });
    for (int i = 0; i < 10; ++i) {
        elsewhere([&] {
            EXPECT_EQ(&regions.local(), first);
            EXPECT_GE(regions.local().statistics().used, 1000U);
        });
    }
}

TEST(PerThread, LetsAThreadUseMany) {
    std::vector<std::unique_ptr<PerThread<FixedBlock<>>>> pools;
    pools.reserve(40);
    for (int i = 0; i < 40; ++i) pools.push_back(std::make_unique<PerThread<FixedBlock<>>>(64));
    std::vector<void *> blocks;
    for (int round = 0; round < 3; ++round) {
        for (auto &pool : pools) blocks.push_back(pool->allocate());
    }
    for (std::size_t at = 0; at < blocks.size(); ++at) pools[at % pools.size()]->deallocate(blocks[at]);
    for (auto &pool : pools) {
        EXPECT_EQ(pool->statistics().threads, 1U);
        EXPECT_EQ(pool->statistics().live, 0U);
    }
}

TEST(PerThread, RefusesWhatItsLayerRefuses) {
    EXPECT_THROW(PerThread<FixedBlock<>>(12), std::invalid_argument);
    EXPECT_THROW(PerThread<FixedBlock<>>(64, 3), std::invalid_argument);
    PerThread<FixedBlock<>> blocks(64);
    EXPECT_EQ(blocks.try_allocate(65, 8), nullptr);
    EXPECT_EQ(blocks.try_allocate(8, 0), nullptr);
    EXPECT_THROW((void)blocks.allocate(65, 8), std::bad_alloc);
    blocks.deallocate(nullptr);
    PerThread<SizeClassAllocator<>> classes;
    EXPECT_EQ(classes.try_allocate(257), nullptr);
    EXPECT_EQ(classes.try_allocate(SIZE_MAX, 64), nullptr);
    EXPECT_THROW((void)classes.allocate(8, 3), std::bad_alloc);
    EXPECT_THROW((void)classes.allocate_at_least(257), std::bad_alloc);
    EXPECT_EQ(classes.allocate_at_least(40).size, 64U);
    classes.deallocate(nullptr, 8);
}

TEST(PerThread, SurvivesFailuresOfItsSource) {
    StrictSource source;
    {
        PerThread<FixedBlock<Ref<StrictSource>>> blocks(Ref{source}, 64);
        source.fail_after(0);
        EXPECT_EQ(blocks.try_allocate(), nullptr);
        EXPECT_THROW((void)blocks.allocate(), StrictFailure);
        source.fail_never();
        void *const block = blocks.allocate();
        sign(block, 64, 1);
        blocks.deallocate(block);
        blocks.reset(reap::keep_none);
        EXPECT_EQ(source.blocks(), 0U);
        (void)blocks.allocate();
    }
    EXPECT_EQ(source.blocks(), 0U);
}

// A thread that comes when there is no memory has no part, and gets one later.
TEST(PerThread, FailsInAThreadWhoseLayerCannotBeMade) {
    if (is_watched() || REAP_ASAN + REAP_TSAN > 0) GTEST_SKIP() << "tools need memory as well";
    struct Failing {
        Failing() { throw std::runtime_error("no layer today"); }
    };
    EXPECT_THROW(PerThread<Failing>(), std::runtime_error);

    PerThread<Region<>> regions;
    PerThread<FixedBlock<>> blocks(64);
    // The first parts are this thread's.
    void *const object = regions.allocate(8U);
    void *const block = blocks.allocate();
    const void *found = block;
    bool thrown[4] = {};
    const auto throws = [](auto call) {
        try {
            call();
        } catch (const std::bad_alloc &) {
            return true;
        }
        return false;
    };
    const bool ran = where_refused(SYS_mmap, ENOMEM, [&] {
        found = regions.try_allocate(8U);
        thrown[0] = throws([&] { (void)regions.allocate(8U); });
        regions.deallocate(object, 8U);
        thrown[1] = throws([&] { (void)blocks.allocate(); });
        thrown[2] = blocks.try_allocate() == nullptr;
        thrown[3] = throws([&] { const PerThread<Region<>> other; }) &&
                    throws([&] { const PerThread<FixedBlock<>> other(64); });
    });
    if (!ran) GTEST_SKIP() << "no seccomp";
    EXPECT_EQ(found, nullptr);
    for (const bool each : thrown) EXPECT_TRUE(each);
    elsewhere([&] { sign(regions.allocate(8U), 8, 1); });
    blocks.deallocate(block);
    EXPECT_EQ(blocks.statistics().live, 0U);
}

// What is freed elsewhere comes back to the thread that allocates: its memory does not grow.
// try_allocate() returns null whatever the layer's constructor throws; allocate() lets it through.
TEST(PerThread, ReturnsNullWhereALayerCannotBeMade) {
    struct Failing {
        explicit Failing(bool fails) {
            if (fails) throw std::runtime_error("no layer today");
        }
        static void *try_allocate(std::size_t) noexcept { return nullptr; }
        static void *allocate(std::size_t) { return nullptr; }
        static void deallocate(void *) noexcept {}
    };
    std::atomic<bool> fails{false};
    const auto make = [&fails] { return Failing(fails); };
    PerThread layers(make);
    elsewhere([&] {
        (void)layers.local(); // the first, which is idle
        fails = true;
        elsewhere([&] {
            EXPECT_EQ(layers.try_local(), nullptr);
            EXPECT_EQ(layers.try_allocate(std::size_t{8}), nullptr);
            layers.deallocate(static_cast<void *>(nullptr));
            EXPECT_THROW((void)layers.allocate(std::size_t{8}), std::runtime_error);
        });
    });
}

TEST(CrossThreadFree, ComesBackToTheOwner) {
    PerThread<FixedBlock<>> blocks(64);
    std::vector<void *> all(5000);
    std::size_t held = 0;
    for (int round = 0; round < 20; ++round) {
        for (void *&block : all) {
            block = blocks.allocate();
            sign(block, 64, 3);
        }
        elsewhere([&] {
            for (void *block : all) {
                ASSERT_TRUE(is_signed(block, 64));
                blocks.deallocate(block);
            }
        });
        if (round == 2) held = blocks.statistics().held;
    }
    EXPECT_EQ(blocks.statistics().held, held);
}

// A thread that never allocated frees, and one that ended gets its blocks back.
TEST(CrossThreadFree, OutlivesTheThreadThatAllocated) {
    PerThread<SizeClassAllocator<>> objects;
    std::vector<void *> all(3000);
    elsewhere([&] {
        for (void *&object : all) object = objects.allocate(100);
    });
    const std::size_t held = objects.statistics().held;
    for (void *object : all) objects.deallocate(object, 100);
    elsewhere([&] {
        for (void *&object : all) sign(object = objects.allocate(100), 100, 5);
        for (void *object : all) objects.deallocate(object, 100);
    });
    EXPECT_EQ(objects.statistics().held, held);
    EXPECT_EQ(objects.statistics().threads, 1U);
}

/// Threads hand each other objects through a few places, and free what they find there.
template <class Allocate, class Free>
void exchange(std::uint32_t seed, Allocate allocate, Free free) {
    struct Parcel {
        void *object = nullptr;
        std::size_t size = 0;
    };
    constexpr std::size_t thread_count = 4;
    struct Place {
        std::mutex mutex;
        Parcel parcel;
    };
    std::array<Place, 64> places;
    // Several generations of threads, so that pools are handed on in the middle of it all.
    for (std::uint32_t generation = 0; generation < 3; ++generation) {
        in_threads(thread_count, [&](std::size_t number) {
            std::mt19937 random(seed * 100 + generation * 10 + static_cast<std::uint32_t>(number));
            for (int step = 0; step < 4000; ++step) {
                Parcel parcel;
                parcel.size = 1 + random() % 256;
                parcel.object = allocate(parcel.size);
                sign(parcel.object, parcel.size, static_cast<std::uint32_t>(random()));
                {
                    Place &place = places[random() % places.size()];
                    const std::scoped_lock lock(place.mutex);
                    std::swap(parcel, place.parcel);
                }
                if (parcel.object == nullptr) continue;
                ASSERT_TRUE(is_signed(parcel.object, parcel.size));
                free(parcel.object, parcel.size);
            }
        });
    }
    for (const Place &place : places) {
        if (place.parcel.object != nullptr) free(place.parcel.object, place.parcel.size);
    }
}

TEST(CrossThreadFree, MixesNothingUpUnderStress) {
    for (std::uint32_t seed = 1; seed <= 3; ++seed) {
        SCOPED_TRACE(seed);
        PerThread<FixedBlock<>> blocks(256);
        exchange(
            seed, [&](std::size_t /*size*/) { return blocks.allocate(); },
            [&](void *block, std::size_t /*size*/) { blocks.deallocate(block); });
        PerThread<SizeClassAllocator<>> objects;
        exchange(
            seed, [&](std::size_t size) { return objects.allocate(size); },
            [&](void *object, std::size_t size) { objects.deallocate(object, size); });
        EXPECT_LE(objects.statistics().threads, 5U);
    }
}

// The lock-free stack alone, as contended as can be: three threads push, the owner takes.
TEST(CrossThreadFree, LosesNoBlockUnderContention) {
    PerThread<FixedBlock<>> blocks(64, FixedBlockOptions{.first_chunk = 4096, .growth = 1});
    constexpr std::size_t pushers = 3;
    constexpr std::size_t rounds = 20000;
    std::array<std::atomic<void *>, pushers> mailbox{};
    std::atomic<bool> done{false};
    std::vector<std::thread> threads;
    threads.reserve(pushers);
    for (std::size_t number = 0; number < pushers; ++number) {
        threads.emplace_back([&, number] {
            for (;;) {
                if (void *const block = mailbox[number].exchange(nullptr, std::memory_order_acquire)) {
                    ASSERT_TRUE(is_signed(block, 64));
                    blocks.deallocate(block);
                } else if (done) {
                    return;
                }
            }
        });
    }
    for (std::size_t round = 0; round < rounds; ++round) {
        void *block = blocks.allocate();
        sign(block, 64, static_cast<std::uint32_t>(round));
        block = mailbox[round % pushers].exchange(block, std::memory_order_acq_rel);
        if (block != nullptr) blocks.deallocate(block);
    }
    done = true;
    for (std::thread &thread : threads) thread.join();
    for (const auto &box : mailbox) blocks.deallocate(box.load());
    // Every block that is out can be had again: none is on two lists, none is lost.
    const std::size_t held = blocks.statistics().held;
    const std::size_t room = held / 4096 * (reap::checked ? 20 : 60) - (reap::hardened ? REAP_QUARANTINE : 0);
    std::set<void *> all;
    for (std::size_t i = 0; i < room; ++i) {
        void *const block = blocks.allocate();
        ASSERT_TRUE(all.insert(block).second);
    }
    EXPECT_EQ(blocks.statistics().held, held);
}

// Threads end while what they used is destroyed.
TEST(ThreadHome, MayEndWhileThreadsEnd) {
    for (int round = 0; round < 50; ++round) {
        std::vector<std::thread> threads;
        std::atomic<int> used{0};
        {
            PerThread<FixedBlock<>> blocks(64);
            PerThread<Region<>> regions;
            for (int i = 0; i < 3; ++i) {
                threads.emplace_back([&] {
                    blocks.deallocate(blocks.allocate());
                    (void)regions.allocate(10U);
                    ++used; // the last that this thread does here
                });
            }
            while (used < 3) std::this_thread::yield();
        }
        for (std::thread &thread : threads) thread.join();
    }
}

TEST(CheckedThreads, FindsMisuseAcrossThreads) {
    if (!reap::checked) GTEST_SKIP() << "only in checked mode";
    const MisuseLog log;
    PerThread<FixedBlock<>> blocks(64);
    PerThread<SizeClassAllocator<>> objects;
    auto *const block = static_cast<unsigned char *>(blocks.allocate());
    void *const object = objects.allocate(40);
    (void)blocks.allocate();

    elsewhere([&] { blocks.deallocate(block); });
    elsewhere([&] { blocks.deallocate(block); });
    blocks.deallocate(block);
    EXPECT_EQ(MisuseLog::take(), Kinds(2, Misuse::double_free));
    elsewhere([&] { write_anyway(block + 5, 1); });
    EXPECT_EQ(blocks.allocate(), block);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::use_after_free});
    elsewhere([&] {
        write_anyway(block + 64, 1);
        blocks.deallocate(block);
    });
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::overflow});
    write_anyway(block + 64, 0xA9);

    elsewhere([&] {
        objects.deallocate(object, 39);
        objects.deallocate(object, 200);
    });
    EXPECT_EQ(MisuseLog::take(), Kinds(2, Misuse::wrong_size));
    alignas(16) static unsigned char stranger[64];
    elsewhere([&] {
        blocks.deallocate(stranger + 16);
        objects.deallocate(block, 64);
    });
    EXPECT_EQ(MisuseLog::take(), Kinds(2, Misuse::foreign_free));
    blocks.reset();
    elsewhere([&] { write_anyway(block, 1); });
    for (int i = 0; i < 70; ++i) (void)blocks.allocate();
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::use_after_reset});
}

// The end of a block is a write to it, for ThreadSanitizer: who still reads it in another thread, without
// being ordered with the free, races.
void read_while_another_frees() {
    PerThread<FixedBlock<>> blocks(64);
    auto *const block = static_cast<unsigned char *>(blocks.allocate());
    std::memset(block, 1, 64);
    std::atomic<int> turn{0};
    std::thread reader([&] {
        const volatile unsigned char *const bytes = block;
        (void)bytes[40];
        turn.store(1, std::memory_order_relaxed); // no order: that is the fault
    });
    while (turn.load(std::memory_order_relaxed) == 0) std::this_thread::yield();
    blocks.deallocate(block);
    reader.join();
}

TEST(ThreadsDeathTest, ThreadSanitizerFindsARaceWithTheFree) {
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
