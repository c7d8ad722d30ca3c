#include "reap/layer/best_fit.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <vector>

#include "reap/layer/best_fit/size_bins.h"
#include "reap/layer/best_fit/size_tree.h"
#include "reap/layer/quicklists.h"
#include "strict_source.h"
#include "stubborn_pages.h"

namespace {

using reap::BestFit;
using reap::BestFitOptions;
using reap::GoodFit;
using reap::Quicklists;
using reap::Ref;
using reap::detail::FreeBlock;
using reap::detail::SizeBins;
using reap::detail::SizeTree;

using Heap = BestFit<Ref<StrictSource>>;

TEST(SizeTree, FindsTheSmallestThatHasRoomAndOfThoseTheFirst) {
    std::array<FreeBlock, 300> blocks{};
    SizeTree tree;
    std::mt19937 random(1);
    std::vector<bool> in(blocks.size());
    for (int round = 0; round < 20000; ++round) {
        const std::size_t at = random() % blocks.size();
        if (in[at]) {
            tree.remove(&blocks[at]);
        } else {
            blocks[at].tag = 8 * (1 + random() % 40);
            tree.insert(&blocks[at]);
        }
        in[at] = !in[at];
        const std::size_t wanted = random() % 340;
        const FreeBlock *best = nullptr;
        for (std::size_t each = 0; each < blocks.size(); ++each) {
            if (!in[each] || blocks[each].size() < wanted) continue;
            if (best == nullptr || blocks[each].size() < best->size()) best = &blocks[each];
        }
        ASSERT_EQ(tree.best(wanted), best);
        ASSERT_EQ(tree.has(&blocks[at]), in[at]);
    }
}

TEST(SizeBins, FindABlockThatIsHardlyLargerThanTheSmallestThatHasRoom) {
    std::array<FreeBlock, 300> blocks{};
    SizeBins index;
    std::mt19937 random(1);
    std::vector<bool> in(blocks.size());
    for (int round = 0; round < 50000; ++round) {
        const std::size_t at = random() % blocks.size();
        if (in[at]) {
            index.remove(&blocks[at]);
        } else {
            blocks[at].tag = 32 + (random() % (std::size_t{1} << (6 + random() % 21)) & ~FreeBlock::flags);
            index.insert(&blocks[at]);
        }
        in[at] = !in[at];
        ASSERT_EQ(index.has(&blocks[at]), in[at]);
        const std::size_t wanted = 32 + random() % (std::size_t{1} << (6 + random() % 21));
        const FreeBlock *best = nullptr;
        for (std::size_t each = 0; each < blocks.size(); ++each) {
            if (!in[each] || blocks[each].size() < wanted) continue;
            if (best == nullptr || blocks[each].size() < best->size()) best = &blocks[each];
        }
        const FreeBlock *const found = index.best(wanted);
        ASSERT_EQ(found == nullptr, best == nullptr);
        if (found == nullptr) continue;
        ASSERT_GE(found->size(), wanted);
        if (best->size() >= std::size_t{7} << 20) continue; // all are in one bin
        ASSERT_LE(found->size(), best->size() + best->size() / 16 + 16);
    }
}

TEST(SizeBins, VisitAllFromASizeOn) {
    std::array<FreeBlock, 6> blocks{};
    SizeBins index;
    for (std::size_t at = 0; at < blocks.size(); ++at) {
        blocks[at].tag = std::size_t{64} << (3 * at);
        index.insert(&blocks[at]);
    }
    std::size_t visited = 0;
    index.each(4096, [&](const FreeBlock *block) {
        EXPECT_GE(block->size(), 4096U);
        ++visited;
    });
    EXPECT_EQ(visited, 4U); // 4 KB, 32 KB, 256 KB and 2 MB
}

TEST(SizeBins, ALongBinThatHasRoomSomewhereLeadsToTheNext) {
    std::array<FreeBlock, 40> blocks{};
    SizeBins index;
    for (std::size_t at = 0; at < blocks.size(); ++at) {
        blocks[at].tag = at == 0 ? 1080 : 1024; // the last of its bin
        index.insert(&blocks[at]);
    }
    EXPECT_EQ(index.best(1072), nullptr);
    FreeBlock larger{.tag = 5000};
    index.insert(&larger);
    EXPECT_EQ(index.best(1072), &larger);
}

// A tag lies in front of each object, used or free; a free one has its size at its end, too.
TEST(BestFit, FindsATagThatWasWrittenOver) {
    StrictSource source;
    Heap heap(source);
    constexpr std::size_t size = 104;
    constexpr std::size_t block = 112; // with its tag
    std::vector<std::byte *> objects(8);
    for (std::byte *&object : objects) {
        object = static_cast<std::byte *>(heap.try_allocate(size, 16));
        std::memset(object, 0, size);
    }
    for (const std::size_t at : {1U, 4U, 6U}) heap.deallocate(objects[at]);
    const auto is_found = [&](std::byte *word, std::size_t bits) {
        std::size_t tag = 0;
        std::memcpy(&tag, word, sizeof tag);
        const std::size_t wrong = tag ^ bits;
        std::memcpy(word, &wrong, sizeof wrong);
        const bool found = !heap.check();
        std::memcpy(word, &tag, sizeof tag);
        return found && heap.check();
    };
    for (std::byte *const object : objects)
        for (const std::size_t bits : {1U, 2U, 16U, 32U, 64U}) // used, used before it, and the size
            EXPECT_TRUE(is_found(object - sizeof(std::size_t), bits)) << bits;
    for (const std::size_t at : {1U, 4U, 6U})
        EXPECT_TRUE(is_found(objects[at] + block - 2 * sizeof(std::size_t), 16));
}

TEST(BestFit, GivesTheSmallestBlockThatHasRoomAndOfThoseTheFirst) {
    StrictSource source;
    Heap heap(source);
    // Freed ones between others that stay, so that they are not merged.
    std::vector<void *> holes;
    for (const std::size_t size : {900U, 300U, 500U, 300U, 700U}) {
        holes.push_back(heap.try_allocate(size, 16));
        (void)heap.try_allocate(16, 16);
    }
    for (void *hole : holes) heap.deallocate(hole);
    EXPECT_EQ(heap.try_allocate(299, 16), holes[1]);
    EXPECT_EQ(heap.try_allocate(299, 16), holes[3]);
    EXPECT_EQ(heap.try_allocate(299, 16), holes[2]) << "the next in size";
    EXPECT_EQ(heap.try_allocate(600, 16), holes[4]);
    EXPECT_TRUE(heap.check());
}

TEST(BestFit, MergesWithBothNeighbours) {
    StrictSource source;
    Heap heap(source);
    std::array<void *, 4> objects{};
    for (void *&object : objects) object = heap.try_allocate(1000, 16);
    heap.deallocate(objects[0]);
    heap.deallocate(objects[2]);
    heap.deallocate(objects[1]);
    EXPECT_TRUE(heap.check());
    EXPECT_EQ(heap.try_allocate(3000, 16), objects[0]);
    EXPECT_TRUE(heap.check());
}

TEST(BestFit, AnObjectCostsItsTagAndBlocksAreOfTheGranule) {
    EXPECT_EQ(Heap::usable_for(0), 24U);
    EXPECT_EQ(Heap::usable_for(24), 24U);
    EXPECT_EQ(Heap::usable_for(25), 40U);
    EXPECT_EQ((BestFit<Ref<StrictSource>, 8>::usable_for(25)), 32U);
}

TEST(BestFit, GrowsIntoAFreeNeighbourAndShrinksWhereItStands) {
    StrictSource source;
    Heap heap(source);
    void *const object = heap.try_allocate(100, 16);
    void *const next = heap.try_allocate(1000, 16);
    void *const wall = heap.try_allocate(16, 16);
    EXPECT_EQ(heap.try_resize(object, 100, 500, 16), nullptr) << "the neighbour is in use";
    heap.deallocate(next);
    EXPECT_EQ(heap.try_resize(object, 100, 500, 16), object);
    EXPECT_GE(Heap::usable_size(object), 500U);
    EXPECT_TRUE(heap.check());
    EXPECT_EQ(heap.try_resize(object, 500, 2000, 16), nullptr);
    EXPECT_EQ(heap.try_resize(object, 500, 10, 16), object);
    EXPECT_EQ(Heap::usable_size(object), 24U);
    EXPECT_TRUE(heap.check());
    heap.deallocate(object);
    heap.deallocate(wall);
    EXPECT_TRUE(heap.check());
}

TEST(BestFit, KeepsOneChunkThatNothingIsIn) {
    StrictSource source;
    {
        Heap heap(source, BestFitOptions{.chunk = 8192});
        std::vector<void *> objects(100);
        for (void *&object : objects) object = heap.try_allocate(1000, 16);
        EXPECT_GT(heap.statistics().chunks, 8 * 8192U);
        for (void *object : objects) heap.deallocate(object);
        EXPECT_EQ(heap.statistics().chunks, 8192U);
        EXPECT_TRUE(heap.trim());
        EXPECT_FALSE(heap.trim());
        EXPECT_EQ(heap.statistics().chunks, 0U);
        EXPECT_TRUE(heap.check());
    }
}

TEST(BestFit, LargeObjectsHaveMemoryOfTheirOwn) {
    StrictSource source;
    {
        Heap heap(source);
        void *const large = heap.try_allocate(600000, 16);
        EXPECT_TRUE(Heap::is_alone(large));
        EXPECT_GE(heap.statistics().large, 600000U);
        EXPECT_EQ(heap.statistics().chunks, 0U);
        std::memset(large, 1, Heap::usable_size(large));
        heap.deallocate(large);
        EXPECT_EQ(heap.statistics().large, 0U);
        EXPECT_NE(heap.try_allocate(700000, 64), nullptr); // what lives at the end goes back, too
    }
}

TEST(BestFit, LargeObjectsAreResizedByTheirSourceOrNotAtAll) {
    BestFit<StubbornPages> heap{StubbornPages()};
    void *large = heap.try_allocate(600000, 16);
    std::memset(large, 1, 600000);
    EXPECT_EQ(heap.try_resize(large, 600000, 700000, 4096), nullptr) << "its alignment is another";
    EXPECT_EQ(heap.try_resize(large, 600000, 100, 16), nullptr) << "small objects share chunks";
    StubbornPages::refuses = true;
    EXPECT_EQ(heap.try_resize(large, 600000, 5000000, 16), nullptr);
    StubbornPages::refuses = false;
    EXPECT_TRUE(heap.check());
    large = heap.try_resize(large, 600000, 5000000, 16);
    ASSERT_NE(large, nullptr);
    EXPECT_EQ(static_cast<unsigned char *>(large)[599999], 1);
    EXPECT_GE(heap.statistics().large, 5000000U);
    EXPECT_TRUE(heap.check());
}

TEST(BestFit, KnowsAnObjectUntilItIsFreedAlsoWhereItsBlockIsMerged) {
    StrictSource source;
    Heap heap(source);
    std::vector<void *> objects(4);
    for (void *&object : objects) object = heap.allocate(100, 16);
    heap.deallocate(objects[0]);
    heap.deallocate(objects[1]); // merged with the one before
    EXPECT_FALSE(Heap::is_live(objects[0]));
    EXPECT_FALSE(Heap::is_live(objects[1]));
    EXPECT_TRUE(Heap::is_live(objects[2]));
    void *const large = heap.allocate(600000, 16);
    EXPECT_TRUE(Heap::is_live(large));
    EXPECT_TRUE(Heap::is_alone(large));
    EXPECT_FALSE(Heap::is_alone(objects[2]));
}

TEST(GoodFit, PurgesWhatIsFreeOnceUntilItIsUsedAgain) {
    StrictSource source;
    GoodFit<Ref<StrictSource>> heap(source, BestFitOptions{.chunk = std::size_t{1} << 20});
    std::size_t given = 0;
    // What is in there need not stay: the heap stands it.
    const auto give = [&](void *data, std::size_t size) {
        std::memset(data, 0xee, size);
        given += size;
    };
    std::vector<void *> objects(20);
    for (void *&object : objects) object = heap.allocate(40000, 16);
    for (std::size_t at = 1; at < 9; at += 2) heap.deallocate(objects[at]);
    heap.purge(30000, give);
    EXPECT_GE(given, 4 * 39900U);
    EXPECT_EQ(heap.statistics().purged, heap.statistics().free);
    EXPECT_TRUE(heap.check());

    given = 0;
    heap.purge(30000, give);
    EXPECT_EQ(given, 0U);

    // The rest of a purged block is one; what was used is none.
    objects[1] = heap.allocate(1000, 16);
    EXPECT_EQ(heap.statistics().purged, heap.statistics().free);
    heap.purge(1000, give);
    EXPECT_EQ(given, 0U);
    heap.deallocate(objects[1]);
    EXPECT_LT(heap.statistics().purged, heap.statistics().free);
    heap.purge(30000, give);
    EXPECT_GE(given, 39900U);

    // What is merged with something else is none either, on both sides.
    given = 0;
    heap.deallocate(objects[2]);
    heap.purge(30000, give);
    EXPECT_GE(given, 3 * 40000U);
    EXPECT_EQ(heap.statistics().purged, heap.statistics().free);
    EXPECT_TRUE(heap.check());
}

using Quick = Quicklists<Heap>;

TEST(Quicklists, AnObjectOfASizeIsTheNextOfThatSize) {
    StrictSource source;
    Quick quick(source);
    EXPECT_EQ(Quick::largest, 24U + 126 * 16);
    void *const one = quick.try_allocate(100, 16);
    void *const other = quick.try_allocate(100, 16);
    (void)quick.try_allocate(100, 16);
    quick.deallocate(one);
    quick.deallocate(other);
    EXPECT_EQ(quick.kept(), 2 * Heap::usable_size(one));
    EXPECT_NE(quick.try_allocate(120, 16), other) << "of another size";
    EXPECT_EQ(quick.try_allocate(104, 16), other) << "the last that came first";
    EXPECT_EQ(quick.try_allocate(90, 16), one);
    EXPECT_EQ(quick.kept(), 0U);
}

TEST(Quicklists, LargerOnesGoToTheHeapAtOnce) {
    StrictSource source;
    Quick quick(source);
    void *const largest = quick.try_allocate(Quick::largest, 16);
    void *const larger = quick.try_allocate(Quick::largest + 1, 16);
    quick.deallocate(larger);
    EXPECT_EQ(quick.kept(), 0U);
    quick.deallocate(largest);
    EXPECT_EQ(quick.kept(), Quick::largest);
}

TEST(Quicklists, AreGivenToTheHeapBeforeTheSourceIsAskedForMore) {
    StrictSource source;
    Quick quick(source, BestFitOptions{.chunk = std::size_t{64} << 10});
    std::vector<void *> objects(60);
    for (void *&object : objects) object = quick.try_allocate(1000, 16);
    for (void *object : objects) quick.deallocate(object);
    const std::size_t before = quick.heap().statistics().chunks;
    EXPECT_NE(quick.try_allocate(15000, 16), nullptr);
    EXPECT_EQ(quick.heap().statistics().chunks, before);
    EXPECT_EQ(quick.kept(), 0U);
    EXPECT_TRUE(quick.heap().check());
}

TEST(Quicklists, StayWhereTheyAreForALargeObject) {
    StrictSource source;
    Quick quick(source);
    quick.deallocate(quick.try_allocate(100, 16));
    EXPECT_NE(quick.try_allocate(600000, 16), nullptr);
    EXPECT_GT(quick.kept(), 0U);
}

} // namespace
