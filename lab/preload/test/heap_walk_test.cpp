// Concern: every byte of a heap is counted once and as what it is; no page is touched that need not be; what
// is no heap, or changes, is refused and never crashes.
#include "heap_walk.h"

#include <gtest/gtest.h>
#include <random>
#include <sys/mman.h>
#include <vector>

namespace {

using reap::preload::walk_heap;

constexpr uint64_t page = 4096;
constexpr uint64_t used = 1; // of the chunk before

// Chunks as glibc lays them, in memory of our own.
class Heap {
  public:
    explicit Heap(uint64_t pages) : bytes_(pages * page) {
        memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        madvise(memory_, bytes_, MADV_NOHUGEPAGE);
    }
    ~Heap() { munmap(memory_, bytes_); }
    Heap(const Heap &) = delete;
    Heap &operator=(const Heap &) = delete;

    [[nodiscard]] uint64_t begin() const { return reinterpret_cast<uint64_t>(memory_); }
    [[nodiscard]] uint64_t end() const { return begin() + bytes_; }
    [[nodiscard]] uint64_t left() const { return bytes_ - at_; }

    void add(uint64_t size, bool in_use) {
        word(at_ + 8) = size | (before_ ? used : 0);
        before_ = in_use;
        at_ += size;
    }
    void finish() { add(left(), true); } // the top

    [[nodiscard]] uint64_t &word(uint64_t offset) const {
        return *reinterpret_cast<uint64_t *>(begin() + offset);
    }

    [[nodiscard]] uint64_t resident() const {
        std::vector<unsigned char> pages(bytes_ / page);
        mincore(memory_, bytes_, pages.data());
        uint64_t count = 0;
        for (const unsigned char each : pages) count += each & 1;
        return count * page;
    }

  private:
    uint64_t bytes_;
    void *memory_;
    uint64_t at_ = 0;
    bool before_ = true;
};

reap_resident_walk walked(const Heap &heap) {
    reap_resident_walk walk{};
    EXPECT_TRUE(walk_heap(heap.begin(), heap.end(), walk));
    return walk;
}

TEST(HeapWalk, OneBlockPinsAllThatIsFreeBelowIt) {
    Heap heap(100);
    heap.add(64, true);
    heap.add(90 * page, false);
    heap.add(2064, true);
    heap.finish();
    // What malloc_trim leaves of the free chunk: its first page, which holds its head.
    for (uint64_t at = page; at < 50 * page; at += page) heap.word(at) = 1;
    const reap_resident_walk walk = walked(heap);
    EXPECT_EQ(walk.live, 64u + 2064u);
    EXPECT_EQ(walk.live_blocks, 2u);
    EXPECT_EQ(walk.free, 90 * page);
    EXPECT_EQ(walk.whole, 89 * page);
    EXPECT_EQ(walk.whole_resident, 49 * page);
    EXPECT_EQ(walk.largest, 89 * page);
    EXPECT_EQ(walk.above_blocks, 1u);
    EXPECT_EQ(walk.above_bytes, 2064u);
    EXPECT_EQ(walk.top, 100 * page - 64 - 90 * page - 2064);
}

TEST(HeapWalk, LookingMakesNothingResident) {
    Heap heap(4000);
    heap.add(64, true);
    heap.add(3000 * page, false);
    heap.add(500 * page, true); // a block of which only the head was ever written
    heap.add(64, true);
    heap.finish();
    const uint64_t before = heap.resident();
    const reap_resident_walk walk = walked(heap);
    EXPECT_EQ(heap.resident(), before);
    EXPECT_EQ(walk.resident, before);
    EXPECT_LE(before, 8 * page);
}

TEST(HeapWalk, EveryByteIsCountedOnce) {
    std::mt19937 random(7); // NOLINT(bugprone-random-generator-seed): the same every time
    for (int turn = 0; turn < 50; ++turn) {
        Heap heap(600);
        uint64_t live = 0;
        uint64_t free_bytes = 0;
        uint64_t whole = 0;
        bool before = false;
        while (heap.left() > 40 * page) {
            const uint64_t size = 32 + random() % (random() % 3 == 0 ? 20000 : 300) / 16 * 16;
            before = !before || random() % 3 != 0; // no two free chunks lie side by side
            const uint64_t chunk = heap.end() - heap.left();
            if (before) {
                live += size;
            } else {
                free_bytes += size;
                const uint64_t first = (chunk + 48 + page - 1) / page;
                const uint64_t last = (chunk + size) / page;
                whole += last > first ? (last - first) * page : 0;
            }
            heap.add(size, before);
        }
        heap.add(32, true);
        const uint64_t top = heap.left();
        heap.finish();
        const reap_resident_walk walk = walked(heap);
        EXPECT_EQ(walk.live, live + 32);
        EXPECT_EQ(walk.free, free_bytes);
        EXPECT_EQ(walk.whole, whole);
        EXPECT_EQ(walk.top, top);
        EXPECT_EQ(walk.live + walk.free + walk.top, walk.bytes);
        EXPECT_LE(walk.whole_resident, walk.whole);
    }
}

TEST(HeapWalk, WhatIsNoHeapIsRefused) {
    reap_resident_walk walk{};
    for (const uint64_t head :
         {uint64_t{0}, uint64_t{16}, uint64_t{40}, uint64_t{1} << 40, uint64_t{64 | 2}, uint64_t{64 | 4}}) {
        Heap heap(4);
        heap.add(64, true);
        heap.finish();
        EXPECT_TRUE(walk_heap(heap.begin(), heap.end(), walk));
        heap.word(64 + 8) = head;
        EXPECT_FALSE(walk_heap(heap.begin(), heap.end(), walk)) << head;
    }
    EXPECT_FALSE(walk_heap(0, page, walk));
    EXPECT_FALSE(walk_heap(page, page, walk));
}

TEST(HeapWalk, AHeapThatShrinksMeanwhileIsNoCrash) {
    Heap heap(8);
    heap.add(6 * page, true);
    heap.finish();
    munmap(reinterpret_cast<void *>(heap.begin() + 5 * page), 3 * page);
    reap_resident_walk walk{};
    EXPECT_FALSE(walk_heap(heap.begin(), heap.end(), walk));
}

TEST(HeapWalk, TheBreakIsBehindItsBegin) {
    EXPECT_GE(reap::preload::current_break(), reap::preload::initial_break());
    EXPECT_GT(reap::preload::initial_break(), 0u);
}

} // namespace
