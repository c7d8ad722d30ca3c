// interpose/win32_like.h as a program's threads use it. The entry points: entry_points.cpp.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "reap/interpose/win32_like.h"

namespace {

using Heap = reap::interpose::Win32Like;

constexpr std::size_t megabyte = std::size_t{1} << 20;

void sign(void *object, std::size_t size) { std::memset(object, static_cast<int>(size % 251), size); }
bool is_signed(const void *object, std::size_t size) {
    const auto *const bytes = static_cast<const unsigned char *>(object);
    return std::all_of(bytes, bytes + size, [size](unsigned char byte) { return byte == size % 251; });
}

/// What most programs ask for, and now and then something large.
std::size_t a_size(std::mt19937 &random) {
    const auto dice = random();
    if (dice % 4096 == 0) return 1 + random() % (2 * megabyte);
    if (dice % 64 == 0) return 1 + random() % 40000;
    return 1 + random() % 300;
}

TEST(Win32Like, ServesAllSizesAndAlignments) {
    std::vector<std::pair<void *, std::size_t>> objects;
    for (std::size_t size = 0; size < 8 * megabyte; size += size / 5 + 1) {
        for (std::size_t alignment = 16; alignment <= 4 * megabyte; alignment *= 16) {
            void *const object = Heap::allocate(size, alignment);
            ASSERT_NE(object, nullptr) << size << " at " << alignment;
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(object) % alignment, 0U);
            EXPECT_GE(Heap::usable_size(object), size);
            EXPECT_TRUE(Heap::may_own(object));
            sign(object, size);
            objects.emplace_back(object, size);
        }
    }
    EXPECT_TRUE(Heap::check());
    for (const auto &[object, size] : objects) {
        EXPECT_TRUE(is_signed(object, size));
        Heap::free(object);
    }
    EXPECT_EQ(Heap::allocate(~std::size_t{0}), nullptr);
    EXPECT_EQ(Heap::allocate(std::size_t{1} << 62), nullptr);
    Heap::free(nullptr);
    Heap::trim();
    EXPECT_TRUE(Heap::check());
    EXPECT_EQ(Heap::statistics().chunks, 0U);
    EXPECT_EQ(Heap::statistics().large, 0U);
}

TEST(Win32Like, ZeroesWhatWasUsedBeforeAndWhatIsFresh) {
    for (const std::size_t size : {1U, 100U, 3000U, 200000U, 600000U, 5000000U}) {
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

// It has pages of its own, and goes on a list all the same when it is freed.
TEST(Win32Like, ZeroesASmallObjectThatWasAligned) {
    void *const aligned = Heap::allocate(24, std::size_t{1} << 20);
    ASSERT_NE(aligned, nullptr);
    std::memset(aligned, 0xff, 24);
    Heap::free(aligned);
    auto *const bytes = static_cast<unsigned char *>(Heap::allocate_zeroed(24));
    EXPECT_TRUE(std::all_of(bytes, bytes + 24, [](unsigned char byte) { return byte == 0; }));
    Heap::free(bytes);
    Heap::trim(); // for the tests that count
}

TEST(Win32Like, TellsAddressesThatAreNobodys) {
    int variable = 0;
    void *volatile foreign = &variable; // the compiler would say so, too
    EXPECT_FALSE(Heap::may_own(foreign));
    void *const large = Heap::allocate(3 * megabyte);
    EXPECT_TRUE(Heap::may_own(large));
    EXPECT_FALSE(Heap::may_own(static_cast<std::byte *>(large) + 8));
    Heap::free(large);
    EXPECT_FALSE(Heap::may_own(large)) << "its pages were returned to the OS";
}

TEST(Win32Like, GrowsAndShrinksWithWhatIsInIt) {
    void *object = Heap::allocate(10);
    sign(object, 10);
    for (std::size_t size = 20; size <= 64 * megabyte; size = size * 3 / 2) {
        object = Heap::reallocate(object, size);
        ASSERT_NE(object, nullptr);
        EXPECT_TRUE(is_signed(object, 10));
        EXPECT_GE(Heap::usable_size(object), size);
        static_cast<char *>(object)[size - 1] = 1;
    }
    sign(object, 40 * megabyte);
    object = Heap::reallocate(object, 100);
    EXPECT_EQ(static_cast<unsigned char *>(object)[99], 40 * megabyte % 251);
    EXPECT_TRUE(Heap::check());
    Heap::free(object);
    EXPECT_EQ(Heap::statistics().large, 0U);
}

TEST(Win32Like, ObjectsOfOneThreadAreFreedByAnother) {
    constexpr int rounds = REAP_TSAN ? 3000 : 50000;
    std::array<std::atomic<void *>, 64> slots{};
    const auto work = [&](unsigned seed) {
        std::mt19937 random(seed);
        for (int round = 0; round < rounds; ++round) {
            const std::size_t size = sizeof(size) + a_size(random) % 5000;
            void *object = Heap::allocate(size);
            sign(object, size);
            std::memcpy(object, &size, sizeof size);
            object = slots[random() % slots.size()].exchange(object);
            if (object == nullptr) continue;
            std::size_t told = 0;
            std::memcpy(&told, object, sizeof told);
            EXPECT_TRUE(told <= 5008 && Heap::usable_size(object) >= told);
            const auto *const bytes = static_cast<const unsigned char *>(object);
            EXPECT_TRUE(told == sizeof told || bytes[told - 1] == told % 251);
            Heap::free(object);
        }
    };
    std::vector<std::thread> threads;
    for (unsigned seed = 1; seed <= 4; ++seed) threads.emplace_back(work, seed);
    for (std::thread &thread : threads) thread.join();
    EXPECT_TRUE(Heap::check());
    for (std::atomic<void *> &slot : slots) Heap::free(slot.exchange(nullptr));
    Heap::trim();
    EXPECT_EQ(Heap::statistics().chunks, 0U);
}

TEST(Win32Like, ForksBesideThreadsThatAllocate) {
    ASSERT_TRUE(Heap::watch_forks());
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (unsigned seed = 1; seed <= 3; ++seed) {
        threads.emplace_back([&, seed] {
            std::mt19937 random(seed);
            while (!stop) Heap::free(Heap::allocate(a_size(random)));
        });
    }
    for (int round = 0; round < (REAP_TSAN ? 3 : 20); ++round) {
        const pid_t child = fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            alarm(60); // what ends it if the lock is held for ever
            std::mt19937 random(9);
            for (int count = 0; count < 2000; ++count) {
                const std::size_t size = a_size(random);
                void *const object = Heap::allocate(size);
                sign(object, size);
                Heap::free(object);
            }
            // Not _exit(): memcheck looks for leaks there, and finds what the lost threads had.
            if (Heap::check()) execl("/bin/true", "true", nullptr);
            _exit(1);
        }
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
    }
    stop = true;
    for (std::thread &thread : threads) thread.join();
}

} // namespace
