// Concern: a recent stack is found again only while every word is as it was that the walk had read.
#include "known_stack.h"

#include <gtest/gtest.h>
#include <memory>

namespace {

using reap::preload::Cfa;
using reap::preload::FrameRule;
using reap::preload::KnownStack;
using reap::preload::SavedRbp;
using reap::preload::WalkStart;

// An outer frame that is known, and below it two frames that were walked last. Each has 64 bytes.
class RecentStacksTest : public testing::Test {
  protected:
    RecentStacksTest() { fill(kPlain); }

    void fill(FrameRule middle) {
        words[12] = at(20);
        known->append({at(24), words[23] = 0x401001, at(12), at(32), kPlain}, 1);
        known->append({at(16), words[15] = 0x401002, at(12), at(24), middle}, 2);
        known->append({at(8), words[7] = 0x401003, at(12), at(16), kPlain}, 3);
        known->add_recent(start(), 1);
    }
    [[nodiscard]] uint64_t at(size_t word) const { return reinterpret_cast<uint64_t>(&words[word]); }
    [[nodiscard]] WalkStart start() const { return {at(8), words[7], &words[12]}; }
    [[nodiscard]] uint32_t found() const { return known->find_recent(start()); }

    static constexpr FrameRule kPlain{64, 0, Cfa::Rsp, SavedRbp::Unchanged};
    static constexpr FrameRule kFramed{64, 0, Cfa::Rbp, SavedRbp::Unchanged};
    uint64_t words[40] = {};
    std::unique_ptr<KnownStack> known = std::make_unique<KnownStack>();
};

TEST_F(RecentStacksTest, IsFoundWhileNothingHasChanged) {
    EXPECT_EQ(found(), 3u);
    EXPECT_EQ(found(), 3u);
}

TEST_F(RecentStacksTest, IsNotFoundWithAnotherReturnAddressAnywhere) {
    for (const size_t word : {7u, 15u, 23u}) {
        ++words[word];
        EXPECT_EQ(found(), 0u) << word;
        --words[word];
    }
    EXPECT_EQ(found(), 3u);
}

TEST_F(RecentStacksTest, IsNotFoundAtAnotherStackPointer) {
    EXPECT_EQ(known->find_recent({at(9), words[7], &words[12]}), 0u);
}

TEST_F(RecentStacksTest, IsNotFoundBelowAnotherKnownFrame) {
    known->frames[0].id = 9;
    EXPECT_EQ(found(), 0u);
    known->frames[0].id = 1;
    known->frames[0].sp += 16;
    EXPECT_EQ(found(), 0u);
    known->frames[0].sp -= 16;
    EXPECT_EQ(found(), 3u);
    known->count = 0;
    EXPECT_EQ(found(), 0u);
}

TEST_F(RecentStacksTest, IsForgotten) {
    known->recent.forget();
    EXPECT_EQ(found(), 0u);
    for (int again = 0; again < 3; ++again) {
        known->add_recent(start(), 1);
        EXPECT_EQ(found(), 3u);
        known->recent.forget();
        EXPECT_EQ(found(), 0u);
    }
}

TEST_F(RecentStacksTest, RbpMattersIfAFrameReadsIt) {
    words[12] += 8;
    EXPECT_EQ(found(), 3u);
    known->count = 0;
    fill(kFramed);
    EXPECT_EQ(found(), 3u);
    words[12] += 8;
    EXPECT_EQ(found(), 0u);
}

TEST_F(RecentStacksTest, TwoStacksThatBeginAtTheSamePlaceAreKeptBoth) {
    words[15] = 0x402002;
    known->count = 1;
    known->append({at(16), 0x402002, at(12), at(24), kPlain}, 4);
    known->append({at(8), words[7], at(12), at(16), kPlain}, 5);
    known->add_recent(start(), 1);
    EXPECT_EQ(found(), 5u);
    words[15] = 0x401002;
    EXPECT_EQ(found(), 3u);
    known->recent.forget();
    words[15] = 0x402002;
    known->add_recent(start(), 1);
    EXPECT_EQ(found(), 5u);
    words[15] = 0x401002;
    EXPECT_EQ(found(), 0u) << "forgotten, and not added again";
}

// The words of the callers by which a stack is found are four; these are compared alone.
TEST(DeepRecentStack, IsNotFoundWithAnotherReturnAddressFurtherOut) {
    constexpr size_t kDeep = 40;
    constexpr size_t kBelow = 10; // frames below the known one
    constexpr FrameRule kPlain{16, 0, Cfa::Rsp, SavedRbp::Unchanged};
    const auto words = std::make_unique<uint64_t[]>(2 * kDeep + 2);
    const auto known = std::make_unique<KnownStack>();
    const auto at = [&](size_t word) { return reinterpret_cast<uint64_t>(&words[word]); };
    for (size_t frame = kDeep; frame != 0; --frame) { // outermost first
        const uint64_t pc = words[2 * frame - 1] = 0x400000 + frame;
        known->append({at(2 * frame), pc, at(0), at(2 * frame + 2), kPlain},
                      static_cast<uint32_t>(100 - frame));
    }
    const WalkStart start{at(2), words[1], &words[0]};
    known->add_recent(start, kDeep - kBelow);
    ASSERT_EQ(known->find_recent(start), 99u);
    for (size_t frame = 6; frame <= kDeep; ++frame) {
        ++words[2 * frame - 1];
        EXPECT_EQ(known->find_recent(start), 0u) << frame;
        --words[2 * frame - 1];
    }
    EXPECT_EQ(known->find_recent(start), 99u);
}

TEST_F(RecentStacksTest, AFrameOutsideAllModulesIsNotRemembered) {
    known->recent.forget();
    known->ends_outside = true;
    known->add_recent(start(), 1);
    EXPECT_EQ(found(), 0u);
}

// More stacks than there is room for, each at a stack pointer of its own.
TEST(ManyRecentStacks, TheLatestAreKept) {
    constexpr size_t kMany = 3000;
    constexpr size_t kKept = 500;
    constexpr FrameRule kPlain{16, 0, Cfa::Rsp, SavedRbp::Unchanged};
    const auto words = std::make_unique<uint64_t[]>(2 * kMany + 4);
    const auto known = std::make_unique<KnownStack>();
    const auto at = [&](size_t word) { return reinterpret_cast<uint64_t>(&words[word]); };
    const auto start = [&](size_t word) { return WalkStart{at(word), words[word - 1], &words[0]}; };
    words[2 * kMany + 1] = 0x400000;
    known->append({at(2 * kMany + 2), 0x400000, at(0), at(2 * kMany + 4), kPlain}, 1);
    for (size_t i = 1; i <= kMany; ++i) {
        words[2 * i - 1] = 0x400000 + i;
        known->count = 1;
        known->append({at(2 * i), words[2 * i - 1], at(0), at(2 * i + 2), kPlain},
                      static_cast<uint32_t>(i + 1));
        known->add_recent(start(2 * i), 1);
        ASSERT_EQ(known->find_recent(start(2 * i)), i + 1);
    }
    size_t found = 0;
    for (size_t i = kMany - kKept; i <= kMany; ++i) {
        const uint32_t id = known->find_recent(start(2 * i));
        if (id == i + 1) ++found;
        ASSERT_TRUE(id == 0 || id == i + 1);
    }
    EXPECT_GT(found, kKept / 4); // of those whose calls no other took the place of
}

} // namespace
