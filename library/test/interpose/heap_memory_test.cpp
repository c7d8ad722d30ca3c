// interpose/heap.h: how much memory the heap of a process holds.

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <gtest/gtest.h>
#include <optional>
#include <random>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <vector>

#include "heap_use.h"
#include "reap/interpose/heap.h"

namespace {

using reap::interpose::Heap;

/// Whether the kernel was asked for huge pages there. Null: it does not say.
std::optional<bool> is_huge(const void *address) {
    std::ifstream file("/proc/self/smaps");
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    bool here = false;
    for (std::string line; std::getline(file, line);) {
        // "START-END " of a mapping, or "NAME: " of something about it.
        std::uintptr_t start = 0;
        std::uintptr_t end = 0;
        const char *const last = line.data() + line.size();
        const auto dash = std::from_chars(line.data(), last, start, 16);
        if (dash.ptr != last && *dash.ptr == '-') {
            std::from_chars(dash.ptr + 1, last, end, 16);
            here = start <= wanted && wanted < end;
        } else if (here && line.starts_with("VmFlags:")) {
            return line.find(" hg") != std::string::npos;
        }
    }
    return {};
}

TEST(Heap, AsksForHugePagesFromTheSeventeenthSuperblockOn) {
    void *const probe = reap::SystemPages::try_allocate(2 * megabyte, 1);
    const bool can = ::madvise(probe, 2 * megabyte, MADV_HUGEPAGE) == 0 && is_huge(probe).value_or(false);
    reap::SystemPages::deallocate(probe, 2 * megabyte, 1);
    if (!can) GTEST_SKIP() << "no huge pages here, or no word of them";

    // As large as a superblock at first, or in the end, and none.
    for (int round = 0; round < 6; ++round) {
        Heap::free(Heap::reallocate(Heap::allocate(2 * megabyte - 4096), 40 * megabyte));
    }
    std::vector<void *> objects;
    const auto held = [] { return Heap::statistics().chunks / (2 * megabyte); };
    const auto check = [&] {
        for (std::size_t before = held(); before < 20;) {
            objects.push_back(Heap::allocate(3000));
            if (held() == before) continue;
            EXPECT_EQ(is_huge(objects.back()), before >= 16) << "superblock " << before + 1;
            before = held();
        }
        for (void *object : objects) Heap::free(object);
        objects.clear();
        Heap::trim();
    };
    check();
    for (int round = 0; round < 6; ++round) {
        Heap::free(Heap::reallocate(Heap::allocate(40 * megabyte), 2 * megabyte - 4096));
        Heap::trim();
    }
    check();
}

std::size_t mappings() {
    std::ifstream file("/proc/self/maps");
    std::size_t lines = 0;
    for (std::string line; std::getline(file, line);) ++lines;
    return lines;
}

// A process may have some 65,530 mappings, and a thread takes one.
TEST(Heap, ManyLargeObjectsTakeFewMappings) {
    if (REAP_TSAN) GTEST_SKIP() << "it has mappings of its own for ours, and this is one thread";
    constexpr std::size_t count = 9000;
    const std::size_t before = mappings();
    std::vector<void *> objects(count);
    for (int round = 0; round < 2; ++round) {
        for (std::size_t at = 0; at < count; ++at) {
            const std::size_t size = at % 100 == 0 ? 5 * megabyte : 300000;
            objects[at] = at % 2 == 0 ? Heap::allocate(size) : Heap::allocate_zeroed(size);
            ASSERT_NE(objects[at], nullptr);
            const auto *const bytes = static_cast<const unsigned char *>(objects[at]);
            if (at % 2 != 0) {
                ASSERT_EQ(bytes[0] | bytes[5000] | bytes[size - 1], 0);
            }
            sign(objects[at], 100);
            if (at % 10 == 0) sign(static_cast<char *>(objects[at]) + 4900, 200);
        }
        EXPECT_LT(mappings(), before + 5500);
        // Some grow and shrink, beyond their windows and within them.
        for (std::size_t at = 0; at < count; at += 50) {
            for (const std::size_t size : {std::size_t{400000}, 7 * megabyte, std::size_t{300000}}) {
                objects[at] = Heap::reallocate(objects[at], size);
                ASSERT_TRUE(is_signed(objects[at], 100));
            }
        }
        for (std::size_t at = 0; at < count; ++at) {
            void *const object = objects[at * 7919 % count];
            ASSERT_TRUE(is_signed(object, 100)) << at;
            if (at % 500 == 0) (void)::mlock(object, 100); // where it may: such pages cannot be released
            Heap::free(object);
            EXPECT_FALSE(Heap::may_own(object));
        }
    }
    Heap::trim();
    EXPECT_EQ(Heap::statistics().large, 0U);
    EXPECT_LT(mappings(), before + 100);
}

TEST(Heap, LargeObjectsFreedElsewhereDoNotWaitForTheirOwner) {
    if (REAP_TSAN) GTEST_SKIP() << "it has memory of its own for ours";
    Heap::trim();
    std::vector<void *> objects(100);
    std::atomic<int> step{0};
    std::thread owner([&] {
        for (void *&object : objects) {
            object = Heap::allocate(megabyte);
            sign(object, megabyte);
        }
        step = 1;
        step.notify_all();
        step.wait(1);
    });
    step.wait(0);
    const std::size_t before = resident();
    for (void *object : objects) Heap::free(object);
    EXPECT_LT(resident(), before - 70 * megabyte) << "all but what the owner would keep";
    step = 2;
    step.notify_all();
    owner.join();
    Heap::trim();
}

TEST(Heap, PagesThatNothingIsInGoBackBesideObjectsThatLive) {
    if (REAP_TSAN) GTEST_SKIP() << "it has memory of its own for ours";
    Heap::trim();
    constexpr std::size_t size = 200000;
    const std::vector<void *> objects = signed_objects(400, size); // 80 MB
    const std::size_t before = resident();
    for (std::size_t at = 0; at < objects.size(); ++at)
        if (at % 8 != 0) Heap::free(objects[at]);
    EXPECT_LT(resident(), before - 40 * megabyte) << "70 MB are free, of which a heap keeps 16 or a quarter";
    for (std::size_t at = 0; at < objects.size(); at += 8) {
        EXPECT_TRUE(is_signed(objects[at], size));
        Heap::free(objects[at]);
    }
    Heap::trim();
}

TEST(Heap, KeepsMorePagesWhereTheThresholdIsHigher) {
    if (REAP_TSAN) GTEST_SKIP() << "it has memory of its own for ours";
    Heap::trim();
    Heap::set_trim_threshold(200 * megabyte);
    const std::vector<void *> objects = signed_objects(400, 200000);
    const std::size_t before = resident();
    for (std::size_t at = 0; at < objects.size(); ++at)
        if (at % 8 != 0) Heap::free(objects[at]);
    EXPECT_GT(resident(), before - 20 * megabyte);
    Heap::set_trim_threshold(16 * megabyte);
    for (std::size_t at = 0; at < objects.size(); at += 8) Heap::free(objects[at]);
    Heap::trim();
}

TEST(Heap, TrimGivesBackEveryPageThatNothingIsIn) {
    if (REAP_TSAN) GTEST_SKIP() << "it has memory of its own for ours";
    Heap::trim();
    constexpr std::size_t size = 20000;
    const std::vector<void *> objects = signed_objects(400, size); // 8 MB: less than is released unasked
    for (std::size_t at = 0; at < objects.size(); ++at)
        if (at % 8 != 0) Heap::free(objects[at]);
    const std::size_t before = resident();
    Heap::trim();
    EXPECT_LT(resident(), before - 5 * megabyte);
    for (std::size_t at = 0; at < objects.size(); at += 8) {
        EXPECT_TRUE(is_signed(objects[at], size));
        Heap::free(objects[at]);
    }
    Heap::trim();
}

TEST(Heap, TrimGivesBackPagesBetweenSmallObjects) {
    if (REAP_TSAN) GTEST_SKIP() << "it has memory of its own for ours";
    Heap::trim();
    constexpr std::size_t size = 100;
    const std::vector<void *> objects = signed_objects(400000, size); // 45 MB
    const std::size_t before = resident();
    // One in 200 KB: no chunk of 1 MB is empty.
    for (std::size_t at = 0; at < objects.size(); ++at)
        if (at % 2000 != 0) Heap::free(objects[at]);
    Heap::trim();
    EXPECT_LT(resident(), before - 35 * megabyte);
    for (std::size_t at = 0; at < objects.size(); at += 2000) {
        EXPECT_TRUE(is_signed(objects[at], size));
        Heap::free(objects[at]);
    }
    // What was released is used again.
    for (void *const object : signed_objects(40000, size)) {
        EXPECT_TRUE(is_signed(object, size));
        Heap::free(object);
    }
    Heap::trim();
}

TEST(Heap, ChunksThatEndedThreadsGaveBackKeepLittleMemory) {
    if (REAP_TSAN) GTEST_SKIP() << "it has memory of its own for ours";
    Heap::trim();
    Heap::set_trim_threshold(2 * megabyte);
    std::atomic<int> turn{0};
    // Both take chunks of the same superblocks in turn, and one of them keeps what it has.
    std::vector<void *> kept;
    const auto work = [&turn](int mine, std::vector<void *> &objects) {
        for (int round = 0; round < 200; ++round) {
            while (turn.load() % 2 != mine) std::this_thread::yield();
            for (int i = 0; i < 1000; ++i) {
                objects.push_back(Heap::allocate(100));
                sign(objects.back(), 100);
            }
            ++turn;
        }
    };
    std::size_t before = 0;
    std::thread other([&] {
        std::vector<void *> objects;
        work(0, objects);
        while (turn.load() < 400) std::this_thread::yield();
        before = resident();
        for (void *const object : objects) Heap::free(object);
    });
    work(1, kept);
    other.join();
    EXPECT_LT(resident(), before - 15 * megabyte) << "20 MB of the other thread";
    Heap::set_trim_threshold(16 * megabyte);
    for (void *const object : kept) {
        EXPECT_TRUE(is_signed(object, 100));
        Heap::free(object);
    }
    Heap::trim();
}

// frag.cpp: peak memory was 1.7 times that of glibc.
TEST(Heap, ObjectsOfManySizesTakeLittleMoreThanTheirBytes) {
    if (REAP_TSAN) GTEST_SKIP() << "slow there, and of one thread";
    Heap::trim();
    std::mt19937 random(1);
    std::vector<void *> objects(200);
    std::vector<std::size_t> sizes(objects.size());
    std::size_t live = 0;
    const std::size_t before = Heap::statistics().chunks;
    std::size_t most = 0;
    for (int count = 0; count < 20000; ++count) {
        const std::size_t at = random() % objects.size();
        Heap::free(objects[at]);
        live -= sizes[at];
        sizes[at] = 2000 + random() % 248000;
        live += sizes[at];
        objects[at] = Heap::allocate(sizes[at]);
        if (count > 2000) most = std::max(most, (Heap::statistics().chunks - before) * 100 / live);
    }
    EXPECT_LT(most, 145) << "at its worst: of 20 MB, a window is a tenth";
    for (void *object : objects) Heap::free(object);
    Heap::trim();
}

// larson: each size had free objects of its own, together half of what lived.
TEST(Heap, SmallObjectsReplacedByOthersOfAnySizeTakeLittleMoreThanTheirBytes) {
    if (REAP_TSAN) GTEST_SKIP() << "slow there, and of one thread";
    Heap::trim();
    std::mt19937 random(1);
    std::vector<void *> objects(5000);
    std::vector<std::size_t> sizes(objects.size());
    std::size_t live = 0;
    const auto replace = [&](std::size_t at) {
        Heap::free(objects[at]);
        live -= sizes[at];
        sizes[at] = 8 + random() % 992;
        live += sizes[at];
        objects[at] = Heap::allocate(sizes[at]);
    };
    const std::size_t before = Heap::statistics().mine;
    for (std::size_t at = 0; at < objects.size(); ++at) replace(at);
    for (int count = 0; count < 500000; ++count) replace(random() % objects.size());
    EXPECT_LT((Heap::statistics().mine - before) * 100 / live, 130) << "percent; half more, once";
    for (void *object : objects) Heap::free(object);
    Heap::trim();
}

TEST(Heap, StaysAsLargeAsWhatLives) {
    constexpr std::size_t live = 20000;
    constexpr std::size_t operations = reap::checked || REAP_TSAN ? 300000 : 3000000;
    Sizes sizes(1);
    std::vector<void *> objects(live);
    std::size_t early = 0;
    for (std::size_t count = 0; count < operations; ++count) {
        void *&object = objects[sizes.below(live)];
        Heap::free(object);
        object = Heap::allocate(sizes.next());
        ASSERT_NE(object, nullptr);
        if (count == operations / 10) early = Heap::statistics().chunks;
    }
    // As much again, for what is in pieces of the wrong size.
    EXPECT_LT(Heap::statistics().chunks, 2 * early);
    for (void *object : objects) Heap::free(object);
    Heap::trim();
    EXPECT_LE(Heap::statistics().chunks, 4 * megabyte);
}

} // namespace
