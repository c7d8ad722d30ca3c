// Concern: Algorithm 3 to the letter: as many objects as asked for, all but the occupancy freed, chosen
// at random, in the order asked for; and nothing left behind when the allocator gives out.
#include "litter.h"

#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>
#include <map>
#include <vector>

#include "chi_squared.h"

namespace {

using namespace reap::preload;

// The allocator that `Heap`'s functions stand for. One at a time, for they are plain functions.
struct Fake {
    std::vector<size_t> asked;
    std::vector<void *> given;
    std::vector<void *> freed;
    size_t fails_at = SIZE_MAX;
    size_t settled = 0;
};
Fake fake;

void *fake_allocate(size_t size) {
    if (fake.asked.size() >= fake.fails_at) return nullptr;
    fake.asked.push_back(size);
    fake.given.push_back(malloc(size));
    return fake.given.back();
}

void fake_release(void *block) { fake.freed.push_back(block); }

void fake_settle() { ++fake.settled; }

class Litter : public testing::Test {
  protected:
    void SetUp() override { fake = {}; }
    void TearDown() override {
        for (void *block : fake.given) free(block);
    }

    static LitterResult run(uint64_t objects, uint64_t kept, reap_litter_order order = REAP_LITTER_RANDOM,
                            uint64_t seed = 1, bool touch = true) {
        return litter({kSizes, 3, objects, kept, seed, order, touch},
                      {fake_allocate, fake_release, fake_settle});
    }

    static constexpr reap_litter_size kSizes[] = {{16, 6}, {100, 3}, {5000, 1}};
};

TEST_F(Litter, AllocatesTheObjectsAndGivesBackAllButTheKept) {
    const LitterResult result = run(10000, 3300);
    EXPECT_EQ(result.failure, REAP_LITTER_NO_FAILURE);
    EXPECT_EQ(result.objects, 10000u);
    EXPECT_EQ(result.kept, 3300u);
    EXPECT_EQ(fake.asked.size(), 10000u);
    EXPECT_EQ(fake.freed.size(), 6700u);
    std::map<void *, size_t> size_of;
    uint64_t bytes = 0;
    for (size_t i = 0; i < fake.given.size(); ++i) {
        size_of[fake.given[i]] = fake.asked[i];
        bytes += fake.asked[i];
    }
    EXPECT_EQ(result.bytes, bytes);
    for (void *block : fake.freed) {
        ASSERT_EQ(size_of.count(block), 1u) << "freed twice, or never given";
        bytes -= size_of[block];
        size_of.erase(block);
    }
    EXPECT_EQ(result.kept_bytes, bytes);
}

TEST_F(Litter, DrawsTheSizesFromTheDistribution) {
    run(100000, 0);
    std::map<size_t, double> seen;
    for (const size_t size : fake.asked) ++seen[size];
    EXPECT_LT(reap::test::chi_squared_deviation({seen[16], seen[100], seen[5000]}, {60000, 30000, 10000}), 4);
}

// Which blocks stay does not depend on when they were allocated: a quarter of each tenth.
TEST_F(Litter, ChoosesWhatStaysAtRandom) {
    run(100000, 25000);
    std::map<void *, size_t> when;
    for (size_t i = 0; i < fake.given.size(); ++i) when[fake.given[i]] = i;
    std::vector<double> freed(10);
    for (void *block : fake.freed) ++freed[when[block] / 10000];
    // Without replacement the counts vary less than independent ones would: the test is on the safe side.
    EXPECT_LT(reap::test::chi_squared_deviation(freed, std::vector<double>(10, 7500)), 4);
}

TEST_F(Litter, FreesInTheOrderAskedFor) {
    run(5000, 1000, REAP_LITTER_ADDRESS);
    EXPECT_TRUE(std::is_sorted(fake.freed.begin(), fake.freed.end()));
    TearDown();
    SetUp();
    run(5000, 1000, REAP_LITTER_REVERSED);
    EXPECT_TRUE(std::is_sorted(fake.freed.rbegin(), fake.freed.rend()));
    TearDown();
    SetUp();
    run(5000, 1000, REAP_LITTER_RANDOM);
    size_t ascents = 0;
    for (size_t i = 1; i < fake.freed.size(); ++i) ascents += fake.freed[i - 1] < fake.freed[i] ? 1 : 0;
    EXPECT_NEAR(static_cast<double>(ascents), 2000, 150); // of 3999 pairs half, give or take
}

TEST_F(Litter, TheSameSeedMakesTheSameCalls) {
    run(2000, 500, REAP_LITTER_RANDOM, 42);
    const std::vector<size_t> first = fake.asked;
    std::vector<size_t> order;
    order.reserve(fake.freed.size());
    for (void *block : fake.freed) {
        order.push_back(
            static_cast<size_t>(std::find(fake.given.begin(), fake.given.end(), block) - fake.given.begin()));
    }
    TearDown();
    SetUp();
    run(2000, 500, REAP_LITTER_RANDOM, 42);
    EXPECT_EQ(fake.asked, first);
    for (size_t i = 0; i < order.size(); ++i) EXPECT_EQ(fake.freed[i], fake.given[order[i]]);
    TearDown();
    SetUp();
    run(2000, 500, REAP_LITTER_RANDOM, 43);
    EXPECT_NE(fake.asked, first);
}

TEST_F(Litter, OccupancyZeroGivesEverythingBackAndOneNothing) {
    EXPECT_EQ(run(1000, 0).kept_bytes, 0u);
    EXPECT_EQ(fake.freed.size(), 1000u);
    fake.freed.clear();
    run(1000, 1000);
    EXPECT_TRUE(fake.freed.empty());
}

TEST_F(Litter, AnAllocatorThatGivesOutLeavesNothingBehind) {
    fake.fails_at = 700;
    const LitterResult result = run(1000, 500);
    EXPECT_EQ(result.failure, REAP_LITTER_NO_MEMORY);
    EXPECT_EQ(result.objects, 0u);
    EXPECT_EQ(fake.freed.size(), 700u);
}

TEST_F(Litter, WritesToTheFirstAndTheLastByteAndEveryPageBetween) {
    static unsigned char memory[16384];
    const reap_litter_size one[] = {{10000, 1}};
    const Heap heap{[](size_t) -> void * { return memory; }, [](void *) {}, [] {}};
    litter({one, 1, 1, 1, 1, REAP_LITTER_RANDOM, false}, heap);
    EXPECT_EQ(std::count(memory, memory + sizeof memory, 1), 0);
    litter({one, 1, 1, 1, 1, REAP_LITTER_RANDOM, true}, heap);
    EXPECT_EQ(std::count(memory, memory + sizeof memory, 1), 4);
    EXPECT_EQ(memory[0] + memory[4096] + memory[8192] + memory[9999], 4);
}

TEST_F(Litter, SettlesOftenEnoughForGlibcToSortAll) {
    run(10000, 0);
    EXPECT_EQ(fake.settled, 11u);
}

TEST_F(Litter, NothingIsAskedForWhereThereIsNothingToDo) {
    EXPECT_EQ(run(0, 0).objects, 0u);
    EXPECT_TRUE(fake.asked.empty());
    EXPECT_EQ(fake.settled, 0u);
}

// malloc(0) may answer null; that is no failure, and the block counts.
TEST_F(Litter, NothingMayBeAskedForAndNullIsAnAnswer) {
    const reap_litter_size none[] = {{0, 1}};
    const Heap heap{[](size_t) -> void * { return nullptr; }, fake_release, fake_settle};
    const LitterResult result = litter({none, 1, 10, 5, 1, REAP_LITTER_RANDOM, true}, heap);
    EXPECT_EQ(result.failure, REAP_LITTER_NO_FAILURE);
    EXPECT_EQ(result.objects, 10u);
    EXPECT_EQ(fake.freed.size(), 5u);
}

} // namespace
