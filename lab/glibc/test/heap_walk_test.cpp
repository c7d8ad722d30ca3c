// Concern: every byte of a heap is counted once and as what it is; no page is touched that need not be; what
// is no heap, or changes, is refused and never crashes.
#include "heap_walk.h"

#include <gtest/gtest.h>
#include <random>
#include <sys/mman.h>
#include <vector>

namespace {

using reap::glibc::FastChunks;
using reap::glibc::ThreadCaches;

constexpr uint64_t page = 4096;
constexpr uint64_t used = 1; // of the chunk before

bool walk_heap(uint64_t begin, uint64_t end, reap_resident_walk &walk) {
    FastChunks fast;
    ThreadCaches caches;
    return reap::glibc::walk_heap(reap::glibc::main_heap(begin, end), fast, caches, walk);
}

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

TEST(HeapWalk, PagesThatWereNeverWrittenAreUntouched) {
    Heap heap(100);
    heap.add(64, true);
    heap.add(50 * page, true);
    heap.add(2064, true);
    heap.finish();
    heap.word(10 * page) = 1;
    const reap_resident_walk walk = walked(heap);
    EXPECT_EQ(walk.live, 64 + 50 * page + 2064);
    EXPECT_EQ(walk.untouched, 48 * page);
    EXPECT_EQ(walk.resident, 3 * page);
}

TEST(HeapWalk, ChunksInFastbinsAreJoinedWithTheirNeighbours) {
    Heap heap(100);
    FastChunks fast;
    ThreadCaches caches;
    ASSERT_TRUE(fast.reserve(100 * page, 1));
    heap.add(64, true);
    const uint64_t first = heap.end() - heap.left();
    for (uint64_t i = 0; i < 3 * page / 64; ++i) {
        if (i != 10) fast.add(heap.end() - heap.left());
        heap.add(64, i != 10); // one of them is free as others are
    }
    heap.add(64, true);
    heap.add(128, true);
    fast.add(heap.end() - heap.left() - 128); // before the top
    heap.finish();
    reap_resident_walk walk{};
    const auto whole_heap = reap::glibc::main_heap(heap.begin(), heap.end());
    ASSERT_TRUE(reap::glibc::walk_heap(whole_heap, fast, caches, walk));
    EXPECT_EQ(walk.live, 128u);
    EXPECT_EQ(walk.free, 3 * page);
    EXPECT_EQ(walk.whole, (first + 3 * page) / page * page - (first + 48 + page - 1) / page * page);
    EXPECT_EQ(walk.top, 97 * page - 128);
    fast.clear();
    EXPECT_FALSE(fast.contains(first));
    EXPECT_FALSE(fast.reserve(uint64_t{1} << 50, 1)) << "more than there is room for";
}

TEST(HeapWalk, AFullHeapEndsWithFenceposts) {
    for (const bool free_before : {true, false}) {
        Heap heap(10);
        heap.add(64, true);
        heap.add(heap.left() - (free_before ? 32 : 16), !free_before);
        if (free_before) heap.add(16, true);
        heap.word(10 * page - 8) = used; // of no size
        reap::glibc::Heap full = reap::glibc::main_heap(heap.begin(), heap.end());
        full.main = full.has_top = false;
        FastChunks fast;
        ThreadCaches caches;
        reap_resident_walk walk{};
        ASSERT_TRUE(reap::glibc::walk_heap(full, fast, caches, walk));
        EXPECT_EQ(walk.top, 0u);
        EXPECT_EQ(walk.free, free_before ? 10 * page - 96 : 0);
        EXPECT_EQ(walk.live, free_before ? 64 : 10 * page - 16);
        heap.word(10 * page - (free_before ? 24 : 8)) = 48 | used;
        EXPECT_FALSE(reap::glibc::walk_heap(full, fast, caches, walk));
    }
}

// What is found of a cache of glibc 2.`minor` with `count` blocks of 48 bytes, of which the first is at
// `block` of its heap; 0: none is linked.
ThreadCaches found_with(unsigned minor, uint64_t count, uint64_t block) {
    const uint64_t count_bytes = minor < 30 ? 1 : 2;
    Heap heap(4);
    heap.add(48, true);
    constexpr uint64_t cache = 48 + 16;
    heap.add(16 + 64 * (count_bytes + 8), true);
    heap.word(cache) = count << 8 * count_bytes; // of the second list
    if (block != 0) heap.word(cache + 64 * count_bytes + 8) = heap.begin() + block;
    heap.finish();
    FastChunks fast;
    ThreadCaches caches(minor);
    reap_resident_walk walk{};
    const auto whole_heap = reap::glibc::main_heap(heap.begin(), heap.end());
    EXPECT_TRUE(reap::glibc::walk_heap(whole_heap, fast, caches, walk));
    return caches;
}

TEST(HeapWalk, ThreadCachesAreFoundByTheirLists) {
    for (const unsigned minor : {26U, 29U, 30U, 36U, 41U}) {
        const ThreadCaches caches = found_with(minor, 5, 16);
        EXPECT_TRUE(caches.known());
        EXPECT_EQ(caches.caches(), 1u) << minor;
        EXPECT_EQ(caches.bytes(), 5u * 48u) << minor;
        EXPECT_EQ(found_with(minor, 5, 0).bytes(), 0u) << "a list without a block";
        EXPECT_EQ(found_with(minor, 0, 16).bytes(), 0u) << "blocks that are not counted";
        EXPECT_EQ(found_with(minor, 5, 64).bytes(), 0u) << "blocks of another size than the list's";
        EXPECT_EQ(found_with(minor, 5, uint64_t{1} << 40).bytes(), 0u) << "blocks that are nowhere";
    }
    for (const unsigned minor : {0U, 25U, 42U}) EXPECT_FALSE(ThreadCaches(minor).known());
}

} // namespace
