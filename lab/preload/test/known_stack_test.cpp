// Concern: frames are used again only while every word is as it was that the way from them depends on.
#include "known_stack.h"

#include <gtest/gtest.h>
#include <memory>

namespace {

using reap::preload::Cfa;
using reap::preload::FrameRule;
using reap::preload::KnownStack;
using reap::preload::SavedRbp;

// Three frames of 64 bytes each on a made-up stack: outer, middle, inner.
class KnownStackTest : public testing::Test {
  protected:
    [[nodiscard]] uint64_t at(size_t word) const { return reinterpret_cast<uint64_t>(&words[word]); }

    // rbp of the outer frame is saved in the middle one.
    void fill(FrameRule outer, FrameRule middle) {
        words[20] = at(24);
        words[14] = at(20);
        words[28] = at(32);
        ASSERT_TRUE(known->append({at(24), words[23] = 0x401001, at(20), at(32), outer}, 1));
        ASSERT_TRUE(known->append({at(16), words[15] = 0x401002, at(14), at(24), middle}, 2));
        ASSERT_TRUE(known->append({at(8), words[7] = 0x401003, at(14), at(16), kPlain}, 3));
        ASSERT_EQ(known->unchanged(at(0)), 3u);
    }

    static constexpr FrameRule kPlain{64, 0, Cfa::Rsp, SavedRbp::Unchanged};
    static constexpr FrameRule kSaves{64, -32, Cfa::Rsp, SavedRbp::AtCfa};
    static constexpr FrameRule kFramed{64, 0, Cfa::Rbp, SavedRbp::Unchanged};
    static constexpr FrameRule kAligned{32, 0, Cfa::RbpIndirect, SavedRbp::Unchanged};
    uint64_t words[40] = {};
    std::unique_ptr<KnownStack> known = std::make_unique<KnownStack>();
};

TEST_F(KnownStackTest, ForgetsFramesThatWereLeft) {
    fill(kPlain, kPlain);
    EXPECT_EQ(known->unchanged(at(8)), 3u);
    EXPECT_EQ(known->unchanged(at(9)), 2u);
    EXPECT_EQ(known->unchanged(at(24)), 1u);
    EXPECT_EQ(known->unchanged(at(25)), 0u);
}

TEST_F(KnownStackTest, AnotherReturnAddressChangesTheFramesFromThereInwards) {
    fill(kPlain, kPlain);
    words[15] = 0x402000;
    EXPECT_EQ(known->unchanged(at(0)), 1u);
    words[23] = 0x402000;
    EXPECT_EQ(known->unchanged(at(0)), 0u);
}

TEST_F(KnownStackTest, ASavedRbpMattersIfAFrameOutsideReadsIt) {
    fill(kFramed, kSaves);
    EXPECT_TRUE(known->frames[0].needs_rbp);
    EXPECT_FALSE(known->frames[1].needs_rbp);
    words[20] += 8;
    EXPECT_EQ(known->unchanged(at(0)), 1u);
}

TEST_F(KnownStackTest, ASavedRbpDoesNotMatterOtherwise) {
    fill(kPlain, kSaves);
    words[20] += 8;
    EXPECT_EQ(known->unchanged(at(0)), 3u);
}

TEST_F(KnownStackTest, TheNeedForRbpPassesThroughFramesThatLeaveIt) {
    fill(kFramed, kPlain);
    EXPECT_TRUE(known->frames[1].needs_rbp);
    EXPECT_TRUE(known->frames[2].needs_rbp);
    EXPECT_EQ(known->frames[2].rbp, words[14]);
}

TEST_F(KnownStackTest, TheSlotOfTheCfaOfARealignedFrameMatters) {
    words[20] = at(24);
    words[28] = at(32);
    ASSERT_TRUE(known->append({at(24), words[23] = 0x401001, at(20), at(32), kAligned}, 1));
    ASSERT_EQ(known->unchanged(at(0)), 1u);
    words[28] += 8;
    EXPECT_EQ(known->unchanged(at(0)), 0u);
}

TEST_F(KnownStackTest, AFrameThatReadsOutsideItselfIsNotRemembered) {
    words[20] = at(0);
    EXPECT_FALSE(known->append({at(24), 0x401001, at(20), at(32), kAligned}, 1));
    EXPECT_EQ(known->count, 0u);
}

} // namespace
