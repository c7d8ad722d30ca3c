// interpose/*.h as a program's threads use them. The entry points: entry_points.cpp.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <pthread.h>
#include <set>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "heap_use.h"
#include "reap/interpose/heap.h"
#include "reap/interpose/large_cache.h"
#include "reap/interpose/process_lock.h"
#include "reap/source/window_map.h"

namespace {

using reap::Allocation;
using reap::WindowMap;
using reap::interpose::Heap;
using reap::interpose::LargeCache;
using reap::interpose::ProcessLock;

/// Called after pages were moved, before whoever moved them knows.
std::function<void()> after_move; // NOLINT(cert-err58-cpp)

} // namespace

// The C library's, for this program.
extern "C" void *mremap(void *address, std::size_t size, std::size_t new_size, int flags, ...) noexcept {
    std::va_list more;
    va_start(more, flags);
    void *const place = (flags & MREMAP_FIXED) != 0 ? va_arg(more, void *) : nullptr;
    va_end(more);
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    auto *const moved =
        reinterpret_cast<void *>(::syscall(SYS_mremap, address, size, new_size, flags, place));
    if (moved != MAP_FAILED && moved != address && after_move) after_move();
    return moved;
}

namespace {

TEST(ProcessLock, IsTakenAgainByWhoHoldsItAndByNobodyElse) {
    ProcessLock lock;
    int count = 0;
    const auto work = [&] {
        for (int i = 0; i < 1000; ++i) {
            lock.lock();
            lock.lock();
            ++count;
            lock.unlock();
            ++count;
            lock.unlock();
        }
    };
    std::thread other(work);
    work();
    other.join();
    EXPECT_EQ(count, 4000);
}

TEST(WindowMap, KnowsWhatWasAddedAndNothingElse) {
    static WindowMap<2 * megabyte> map;
    const auto at = [](std::size_t window, std::size_t offset) {
        return reinterpret_cast<const void *>(window * 2 * megabyte + offset);
    };
    EXPECT_FALSE(map.has(nullptr));
    map.add(at(63, 0));
    map.add(at(64, 5));
    EXPECT_TRUE(map.has(at(63, 2 * megabyte - 1)));
    EXPECT_TRUE(map.has(at(64, 0)));
    EXPECT_FALSE(map.has(at(62, 2 * megabyte - 1)));
    EXPECT_FALSE(map.has(at(65, 0)));
    map.remove(at(63, 7));
    EXPECT_FALSE(map.has(at(63, 0)));
    EXPECT_TRUE(map.has(at(64, 0)));
    EXPECT_FALSE(map.has(reinterpret_cast<const void *>(~std::uintptr_t{0}))) << "beyond the map";
}

TEST(LargeCache, RoundsToEightSizesBetweenPowersOfTwo) {
    EXPECT_EQ(LargeCache::block_for(1), reap::page_size());
    EXPECT_EQ(LargeCache::block_for(megabyte), megabyte);
    EXPECT_EQ(LargeCache::block_for(megabyte + 1), megabyte + megabyte / 8);
    EXPECT_EQ(LargeCache::block_for(2 * megabyte - 1), 2 * megabyte);
    EXPECT_EQ(LargeCache::block_for(1, 65536), 65536U) << "where pages are of 64 KB";
    EXPECT_EQ(LargeCache::block_for(300000, 65536), 5 * 65536U);
    EXPECT_EQ(LargeCache::block_for(megabyte + 1, 65536), megabyte + megabyte / 8);
    for (std::size_t size = 1; size < 64 * megabyte; size += size / 3 + 1)
        EXPECT_EQ(LargeCache::block_for(LargeCache::block_for(size)), LargeCache::block_for(size));
}

TEST(LargeCache, KeepsTheLatestUpToItsCapacity) {
    LargeCache cache;
    std::array<std::byte, 64> places{};
    std::size_t put = 0;
    std::set<void *> out;
    for (std::byte &place : places) {
        cache.put({&place, 2 * megabyte});
        ++put;
        for (Allocation block = cache.excess(); block.data != nullptr; block = cache.excess()) {
            EXPECT_EQ(block.size, 2 * megabyte);
            EXPECT_TRUE(out.insert(block.data).second);
        }
        EXPECT_LE(cache.held(), LargeCache::capacity);
        EXPECT_EQ(cache.held(), (put - out.size()) * 2 * megabyte);
    }
    EXPECT_EQ(out.size(), places.size() - LargeCache::capacity / (2 * megabyte));
    EXPECT_TRUE(out.contains(&places.front())) << "the oldest goes first";
    EXPECT_EQ(cache.take(megabyte / 2).data, nullptr) << "none that is far too large";
    EXPECT_EQ(cache.take(2 * megabyte).data, &places.back()) << "the latest comes first";
    std::byte better{};
    cache.put({&better, megabyte + megabyte / 2});
    EXPECT_EQ(cache.take(megabyte).data, &better) << "the smallest that will do";

    std::byte huge{};
    cache.put({&huge, LargeCache::capacity});
    EXPECT_EQ(cache.excess().data, &huge) << "one that would drive out the others is not kept";
    while (cache.any().data != nullptr) {
    }
    EXPECT_EQ(cache.held(), 0U);
}

TEST(Heap, ServesAllSizesAndAlignments) {
    std::vector<std::pair<void *, std::size_t>> objects;
    for (std::size_t size = 0; size < 8 * megabyte; size += size / 5 + 1) {
        for (std::size_t alignment = 16; alignment <= 4 * megabyte; alignment *= 16) {
            void *const object = Heap::allocate(size, alignment);
            ASSERT_NE(object, nullptr) << size << " at " << alignment;
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(object) % alignment, 0U);
            EXPECT_GE(Heap::usable_size(object), size);
            sign(object, size);
            objects.emplace_back(object, size);
        }
    }
    for (const auto &[object, size] : objects) {
        EXPECT_TRUE(is_signed(object, size));
        Heap::free(object);
    }
    EXPECT_EQ(Heap::allocate(~std::size_t{0}), nullptr);
    EXPECT_EQ(Heap::allocate(std::size_t{1} << 62), nullptr);
    Heap::free(nullptr);
}

TEST(Heap, ZeroesWhatWasUsedBeforeAndWhatIsFresh) {
    for (const std::size_t size : {1U, 100U, 3000U, 200000U, 300000U, 1100000U, 5000000U, 40000000U}) {
        for (int round = 0; round < 3; ++round) {
            auto *const bytes = static_cast<unsigned char *>(Heap::allocate_zeroed(size));
            ASSERT_NE(bytes, nullptr);
            EXPECT_TRUE(std::all_of(bytes, bytes + size, [](unsigned char byte) { return byte == 0; }))
                << size;
            std::memset(bytes, 0xff, size);
            Heap::free(bytes);
        }
    }
}

TEST(Heap, TellsAddressesThatAreNobodys) {
    int variable = 0;
    void *volatile foreign = &variable; // the compiler would say so, too
    EXPECT_FALSE(Heap::may_own(foreign));
    void *const large = Heap::allocate(40 * megabyte); // more than is kept
    EXPECT_TRUE(Heap::may_own(large));
    Heap::free(large);
    EXPECT_FALSE(Heap::may_own(large)) << "freed, and its pages returned to the OS";
}

TEST(Heap, TellsLargeObjectsThatWereFreedAndAreKept) {
    void *const large = Heap::allocate(3 * megabyte);
    Heap::free(large);
    EXPECT_FALSE(Heap::may_own(large)) << "freed";
    EXPECT_EQ(Heap::allocate(3 * megabyte), large) << "it was kept";
    EXPECT_TRUE(Heap::may_own(large));
    Heap::free(large);
    Heap::trim();
    EXPECT_FALSE(Heap::may_own(large));
}

TEST(Heap, GrowsAndShrinksLargeObjectsWithoutACopy) {
    const std::size_t before = resident();
    void *object = Heap::allocate(megabyte);
    sign(object, 1000);
    for (std::size_t size = megabyte; size <= 256 * megabyte; size = size * 3 / 2) {
        object = Heap::reallocate(object, size);
        ASSERT_NE(object, nullptr);
        EXPECT_TRUE(is_signed(object, 1000));
        EXPECT_GE(Heap::usable_size(object), size);
        static_cast<char *>(object)[size - 1] = 1;
    }
    if (!REAP_TSAN) { // which has memory of its own for ours
        EXPECT_LT(resident(), before + 50 * megabyte) << "what was never touched is not there";
    }
    object = Heap::reallocate(object, 100);
    EXPECT_EQ(static_cast<unsigned char *>(object)[99], 1000 % 251);
    Heap::free(object);
    EXPECT_LT(Heap::statistics().large, 40 * megabyte);
}

/// A page mapped as soon as may be behind a large object, unless others' pages are there within `reach`
/// bytes.
class Barrier {
  public:
    Barrier(void *object, std::size_t reach) {
        constexpr std::uintptr_t page = 4096;
        const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(object) + Heap::usable_size(object);
        for (std::uintptr_t at = (end + page - 1) & ~(page - 1); at < end + reach && !page_; at += page) {
            auto *const wanted = reinterpret_cast<void *>(at);
            void *const mapped =
                ::mmap(wanted, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
            if (mapped == wanted)
                page_ = mapped;
            else if (mapped != MAP_FAILED)
                ::munmap(mapped, page);
        }
    }
    ~Barrier() {
        if (page_) ::munmap(page_, 4096);
    }
    Barrier(const Barrier &) = delete;
    Barrier &operator=(const Barrier &) = delete;

  private:
    void *page_ = nullptr;
};

TEST(Heap, KnowsWhatAnotherThreadPutsWhereALargeObjectWasThatMoved) {
    using reap::interpose::MarkedPages;
    constexpr std::size_t window = 2 * megabyte;
    Heap::trim(); // what was kept lies anywhere
    void *const object = Heap::allocate(20 * megabyte);
    const Barrier behind(object, 2 * window); // so that it is not enlarged where it is
    auto *const place = reinterpret_cast<void *>(reinterpret_cast<std::uintptr_t>(object) & ~(window - 1));
    bool taken = false;
    // As another thread might have it just now. Where the kernel puts what one asks for is its own affair.
    after_move = [&] {
        taken = ::mmap(place, window, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                       0) == place;
        MarkedPages::mark(place, window);
    };
    void *const moved = Heap::reallocate(object, 200 * megabyte);
    after_move = nullptr;
    ASSERT_NE(moved, object);
    ASSERT_TRUE(taken);
    EXPECT_TRUE(Heap::may_own(object)) << "it is another one now";
    EXPECT_TRUE(Heap::may_own(moved));
    MarkedPages::deallocate(place, window, window);
    Heap::free(moved);
    EXPECT_FALSE(Heap::may_own(moved));
}

TEST(HeapDeathTest, AnObjectOfMiddleSizeThatIsFreedAgainEndsTheProgram) {
    if (REAP_TSAN) GTEST_SKIP() << "threads and death tests do not go together";
    const auto twice = [] {
        const std::vector<void *> objects = signed_objects(3, 5000);
        Heap::free(objects[0]);
        Heap::free(objects[1]); // merged with the one before
        Heap::free(objects[1]);
    };
    EXPECT_DEATH(twice(), "double free");
}

TEST(HeapDeathTest, HardenedModeFindsSmallObjectsThatAreFreedAgainAndAddressesOfNone) {
    if (!reap::hardened) GTEST_SKIP() << "only in hardened mode";
    const auto twice = [] {
        const std::vector<void *> objects = signed_objects(3, 100);
        Heap::free(objects[1]);
        Heap::free(objects[1]);
    };
    EXPECT_DEATH(twice(), "double free");
    const auto twice_elsewhere = [] {
        const std::vector<void *> objects = signed_objects(3, 100);
        Heap::free(objects[1]);
        std::thread([&] { Heap::free(objects[1]); }).join();
        Heap::trim(); // takes back what the thread freed
    };
    EXPECT_DEATH(twice_elsewhere(), "double free");
    const auto of_nobody = [] {
        const std::vector<void *> objects = signed_objects(1, 5000); // in a window of its own kind
        auto *const window = reinterpret_cast<std::byte *>(reinterpret_cast<std::uintptr_t>(objects[0]) &
                                                           ~(reap::usual_window - 1));
        std::memset(static_cast<void *>(window), 0, 4096); // what says whose it is
        Heap::free(objects[0]);
    };
    EXPECT_DEATH(of_nobody(), "not this layer's");
}

TEST(Heap, ObjectsOfOneThreadAreFreedByAnother) {
    constexpr int rounds = REAP_TSAN ? 3000 : 100000;
    std::array<std::atomic<void *>, 64> slots{};
    const auto work = [&](unsigned seed) {
        Sizes sizes(seed);
        for (int round = 0; round < rounds; ++round) {
            const std::size_t size = sizeof(size) + sizes.next() % 5000;
            void *object = Heap::allocate(size);
            sign(object, size);
            std::memcpy(object, &size, sizeof size);
            object = slots[sizes.below(slots.size())].exchange(object);
            if (object == nullptr) continue;
            std::size_t told = 0;
            std::memcpy(&told, object, sizeof told);
            EXPECT_TRUE(told <= 5008 && Heap::usable_size(object) >= told);
            const auto *const bytes = static_cast<const unsigned char *>(object);
            EXPECT_EQ(bytes[told - 1], told > sizeof told ? told % 251 : bytes[told - 1]);
            Heap::free(object);
        }
    };
    std::vector<std::thread> threads;
    for (unsigned seed = 1; seed <= 4; ++seed) threads.emplace_back(work, seed);
    for (std::thread &thread : threads) thread.join();
    for (std::atomic<void *> &slot : slots) Heap::free(slot.exchange(nullptr));
}

TEST(Heap, ProducerAndConsumerStayBounded) {
    constexpr int rounds = REAP_TSAN ? 200 : 3000;
    std::atomic<void **> handed{nullptr};
    std::thread consumer([&] {
        for (int round = 0; round < rounds; ++round) {
            void **batch = nullptr;
            while ((batch = handed.exchange(nullptr)) == nullptr) std::this_thread::yield();
            for (int i = 0; i < 100; ++i) Heap::free(batch[i]);
            Heap::free(static_cast<void *>(batch));
        }
    });
    Sizes sizes(7);
    std::size_t early = 0;
    for (int round = 0; round < rounds; ++round) {
        auto **const batch = static_cast<void **>(Heap::allocate(100 * sizeof(void *)));
        for (int i = 0; i < 100; ++i) batch[i] = Heap::allocate(1 + sizes.below(2000));
        void **none = nullptr;
        while (!handed.compare_exchange_weak(none, batch)) {
            none = nullptr;
            std::this_thread::yield();
        }
        if (round == rounds / 4) early = Heap::statistics().chunks;
    }
    consumer.join();
    EXPECT_LE(Heap::statistics().chunks, 2 * early);
}

TEST(Heap, ThreadsThatComeAndGoLeaveNothingBehind) {
    constexpr int rounds = REAP_TSAN ? 50 : 1000;
    std::size_t early = 0;
    void *left = nullptr;
    for (int round = 0; round < rounds; ++round) {
        std::array<std::thread, 3> threads;
        for (std::thread &thread : threads) {
            thread = std::thread([round, &left, first = &thread == threads.data()] {
                Sizes sizes(static_cast<unsigned>(round));
                std::vector<void *> objects(300);
                for (void *&object : objects) object = Heap::allocate(sizes.next() % 10000);
                // One stays, and is freed by the next.
                if (first) std::swap(left, objects.front());
                for (void *object : objects) Heap::free(object);
            });
        }
        for (std::thread &thread : threads) thread.join();
        if (round == rounds / 4) early = Heap::statistics().chunks;
    }
    Heap::free(left);
    EXPECT_LE(Heap::statistics().chunks, early + 2 * megabyte);
    EXPECT_LE(Heap::statistics().heaps, 16U) << "those of threads that ended are used again";
}

TEST(Heap, WhatEndedThreadsHeldIsFoundBeforeTheSystemIsAsked) {
    std::vector<void *> objects(20000);
    std::thread([&] {
        for (void *&object : objects) object = Heap::allocate(1000);
    }).join();
    const std::size_t before = Heap::statistics().chunks;
    for (void *object : objects) Heap::free(object); // to nobody, now
    for (void *&object : objects) object = Heap::allocate(1000);
    EXPECT_LE(Heap::statistics().chunks, before + 4 * megabyte);
    for (void *object : objects) Heap::free(object);
}

TEST(Heap, ServesThreadsThatAreEnding) {
    static pthread_key_t key; // made after the heap's own, so its destructor comes later
    Heap::free(Heap::allocate(1));
    ASSERT_EQ(pthread_key_create(&key,
                                 [](void *object) {
                                     EXPECT_TRUE(is_signed(object, 100));
                                     Heap::free(object);
                                     for (std::size_t size = 1; size < 3 * megabyte; size *= 3) {
                                         void *const late = Heap::allocate(size);
                                         sign(late, size);
                                         EXPECT_TRUE(is_signed(late, size));
                                         void *const moved = Heap::reallocate(late, 2 * size);
                                         EXPECT_TRUE(is_signed(moved, 0));
                                         Heap::free(moved);
                                     }
                                 }),
              0);
    const std::size_t heaps = Heap::statistics().heaps;
    for (int round = 0; round < 20; ++round) {
        std::thread([] {
            void *const object = Heap::allocate(100);
            sign(object, 100);
            pthread_setspecific(key, object);
        }).join();
    }
    EXPECT_LE(Heap::statistics().heaps, heaps + 1);
    pthread_key_delete(key);
}

TEST(Heap, ForksBesideThreadsThatAllocate) {
    ASSERT_TRUE(Heap::watch_forks());
    std::atomic<bool> stop{false};
    std::atomic<void *> shared{nullptr};
    std::vector<std::thread> threads;
    for (unsigned seed = 1; seed <= 3; ++seed) {
        threads.emplace_back([&, seed] {
            Sizes sizes(seed);
            while (!stop) {
                void *const object = Heap::allocate(sizes.next());
                Heap::free(shared.exchange(object));
            }
        });
    }
    for (int round = 0; round < (REAP_TSAN ? 3 : 20); ++round) {
        const pid_t child = fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            alarm(60);
            Sizes sizes(9);
            for (int count = 0; count < 2000; ++count) {
                const std::size_t size = sizes.next();
                void *const object = Heap::allocate(size);
                sign(object, size);
                Heap::free(shared.exchange(object));
            }
            // Under ThreadSanitizer a child that was forked beside threads may have none, and
            // AddressSanitizer's malloc, which a thread's beginning and end use, may be locked by one that is
            // not there.
            if (REAP_TSAN + REAP_ASAN == 0) std::thread([] { Heap::free(Heap::allocate(100000)); }).join();
            Heap::trim();
            // Not _exit(): memcheck looks for leaks there, and finds what the lost threads had.
            execl("/bin/true", "true", nullptr);
            _exit(1);
        }
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
    }
    stop = true;
    for (std::thread &thread : threads) thread.join();
    Heap::free(shared.exchange(nullptr));
}

} // namespace
