// Concern: the heap of the price preloads is a malloc. No two blocks overlap, whatever thread allocates and
// frees them; a block is as large as asked, aligned, and reused; the region gives no more than it has.
#include <algorithm>
#include <array>
#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "heap.h"

namespace reap::preload {

constinit const bool kShadowed = true;

namespace {

constexpr size_t kAlignment = 16;
constexpr size_t kMany = 5000; // more than a thread keeps of a class

// As the preloads start it.
const bool started = [] {
    heap.start();
    return true;
}();

std::vector<void *> allocate(size_t count, size_t size) {
    std::vector<void *> blocks(count);
    for (void *&block : blocks) block = heap.allocate(size);
    return blocks;
}

void release(const std::vector<void *> &blocks) {
    for (void *block : blocks) heap.release(block);
}

void *on_another_thread(void *(*work)(void *), void *argument) {
    void *result = nullptr;
    std::thread([&] { result = work(argument); }).join();
    return result;
}

TEST(SizeClass, HoldsItsSizesAndWastesAQuarterAtMost) {
    for (size_t size = 0; size <= kGranule; ++size) {
        const size_t bytes = size_of(class_of(size));
        ASSERT_GE(bytes, size);
        ASSERT_LT(bytes - size, std::max(kStep + (size == 0), size / 4 + 1)) << size;
    }
    for (uint32_t index = 1; index < kClasses; ++index) {
        EXPECT_EQ(class_of(size_of(index)), index);
        EXPECT_EQ(class_of(size_of(index - 1) + 1), index);
    }
    EXPECT_EQ(size_of(kClasses - 1), kLargest);
}

TEST(PriceHeap, BehavesAsAMapOfBlocks) {
    ASSERT_TRUE(started);
    std::mt19937 random(1);
    std::map<char *, size_t> live;
    const std::array<size_t, 5> most{48, 1024, 20000, 70000, 300000};
    for (int turn = 0; turn < 40000; ++turn) {
        if (live.size() < 600 && random() % 5 < 3) {
            const size_t size = random() % most[random() % most.size()];
            bool zeroed = false;
            auto *const block = static_cast<char *>(heap.allocate(size, &zeroed));
            ASSERT_NE(block, nullptr);
            ASSERT_TRUE(heap.owns(block));
            ASSERT_EQ(reinterpret_cast<uintptr_t>(block) % kAlignment, 0);
            const size_t usable = heap.usable(block);
            ASSERT_GE(usable, std::max<size_t>(size, 1));
            const auto zeros = static_cast<size_t>(std::count(block, block + usable, 0));
            ASSERT_TRUE(!zeroed || zeros == usable);
            const auto above = live.lower_bound(block);
            ASSERT_TRUE(above == live.end() || above->first >= block + usable);
            ASSERT_TRUE(above == live.begin() || std::prev(above)->first + std::prev(above)->second <= block);
            std::memset(block, 1, usable);
            live.emplace(block, usable);
        } else if (!live.empty()) {
            auto chosen = live.lower_bound(live.begin()->first + random() % (1 << 22));
            if (chosen == live.end()) chosen = live.begin();
            ASSERT_EQ(heap.usable(chosen->first), chosen->second);
            heap.release(chosen->first);
            live.erase(chosen);
        }
    }
    for (const auto &[block, usable] : live) heap.release(block);
}

TEST(PriceHeap, ReusesWhatWasFreed) {
    for (const size_t size : {32UL, 4000UL, 40000UL, 100000UL}) {
        const size_t count = size <= 4000 ? kMany : 40;
        std::set<void *> known;
        for (int turn = 0; turn < 10; ++turn) {
            const std::vector<void *> blocks = allocate(count, size);
            ASSERT_EQ(std::set<void *>(blocks.begin(), blocks.end()).size(), count);
            known.insert(blocks.begin(), blocks.end());
            release(blocks);
        }
        // Beside them what earlier tests left, and what was fresh in a slab.
        EXPECT_LE(known.size(), count * 2) << size;
    }
}

TEST(PriceHeap, AllocatesInTheOrderOfAddressesWhatWasFreedInAny) {
    std::vector<void *> blocks = allocate(kMany, 272);
    std::shuffle(blocks.begin(), blocks.end(), std::mt19937(2));
    release(blocks);
    const std::vector<void *> again = allocate(kMany, 272);
    size_t ascending = 0;
    for (size_t i = 1; i < again.size(); ++i) ascending += again[i] > again[i - 1];
    EXPECT_GT(ascending, kMany * 3 / 4); // all but what the thread's own list held
    release(again);
}

TEST(PriceHeap, AlignsAsAsked) {
    for (size_t alignment = 16; alignment <= kGranule; alignment *= 2) {
        for (const size_t size : {1UL, 100UL, 5000UL, 100000UL}) {
            void *const block = heap.allocate_aligned(alignment, size);
            ASSERT_NE(block, nullptr);
            EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % alignment, 0) << alignment << " " << size;
            EXPECT_GE(heap.usable(block), size);
            heap.release(block);
        }
    }
    EXPECT_EQ(heap.allocate_aligned(2 * kGranule, 1), nullptr);
    EXPECT_EQ(heap.allocate_aligned(16, SIZE_MAX - 8), nullptr);
}

TEST(PriceHeap, KeepsAPlaceForEachBlock) {
    const std::vector<void *> blocks = allocate(kMany, 48);
    std::set<void **> places;
    for (void *block : blocks) places.insert(heap.shadow_of(block));
    EXPECT_EQ(places.size(), blocks.size());
    for (void *block : blocks) *heap.shadow_of(block) = block;
    for (void *block : blocks) ASSERT_EQ(*heap.shadow_of(block), block);
    release(blocks);
}

TEST(PriceHeap, TakesBlocksBackFromAnyThread) {
    std::vector<void *> blocks = allocate(kMany, 208);
    const std::set<void *> known(blocks.begin(), blocks.end());
    on_another_thread(
        [](void *argument) -> void * {
            release(*static_cast<std::vector<void *> *>(argument));
            return nullptr;
        },
        &blocks);
    const std::vector<void *> again = allocate(kMany, 208);
    const auto reused =
        std::count_if(again.begin(), again.end(), [&](void *each) { return known.contains(each); });
    EXPECT_GE(reused, static_cast<ptrdiff_t>(kMany) - 1024) << "what the ended thread kept waits for another";
    release(again);
}

TEST(PriceHeap, GivesWhatAnEndedThreadKeptToTheNext) {
    const auto once = [](void *) -> void * {
        void *const block = heap.allocate(3000);
        heap.release(block);
        return block;
    };
    void *const first = on_another_thread(once, nullptr);
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(on_another_thread(once, nullptr), first);
}

TEST(PriceHeap, ServesManyThreadsAtOnce) {
    std::vector<std::thread> threads;
    std::array<std::vector<void *>, 4> kept;
    threads.reserve(kept.size());
    for (size_t number = 0; number < kept.size(); ++number) {
        threads.emplace_back([&mine = kept[number], number] {
            std::mt19937 random(static_cast<unsigned>(number));
            for (int turn = 0; turn < 20000; ++turn) {
                if (mine.size() < 500 && random() % 3 != 0) {
                    auto *const block = static_cast<size_t *>(heap.allocate(sizeof(size_t) + random() % 500));
                    *block = number;
                    mine.push_back(block);
                } else if (!mine.empty()) {
                    std::swap(mine[random() % mine.size()], mine.back());
                    if (*static_cast<size_t *>(mine.back()) != number) return mine.push_back(nullptr);
                    heap.release(mine.back());
                    mine.pop_back();
                }
            }
        });
    }
    for (std::thread &each : threads) each.join();
    std::set<void *> distinct;
    size_t all = 0;
    for (const std::vector<void *> &mine : kept) {
        ASSERT_EQ(std::count(mine.begin(), mine.end(), nullptr), 0) << "another thread had the same block";
        distinct.insert(mine.begin(), mine.end());
        all += mine.size();
    }
    EXPECT_EQ(distinct.size(), all);
}

TEST(PriceHeap, OwnsNothingElse) {
    const int local = 0;
    EXPECT_FALSE(heap.owns(&local));
    EXPECT_FALSE(heap.owns(nullptr));
    EXPECT_EQ(heap.allocate(kLargest + 1), nullptr);
}

TEST(PriceRegion, EndsAtItsSize) {
    Region region;
    EXPECT_FALSE(region.contains(&region));
    ASSERT_TRUE(region.reserve(size_t{4} << 20));
    const size_t granules = region.size() / kGranule;
    char *last = nullptr;
    for (size_t i = 0; i < granules; ++i) {
        auto *const memory = static_cast<char *>(region.take(kGranule));
        ASSERT_NE(memory, nullptr);
        ASSERT_TRUE(last == nullptr || memory == last + kGranule);
        ASSERT_EQ(region.granule_of(memory), i);
        memory[0] = memory[kGranule - 1] = 1;
        last = memory;
    }
    EXPECT_EQ(region.take(kGranule), nullptr);
    EXPECT_TRUE(region.contains(last + kGranule - 1));
    EXPECT_FALSE(region.contains(last + kGranule));
}

} // namespace
} // namespace reap::preload
