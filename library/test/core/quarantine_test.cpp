#include "reap/core/quarantine.h"

#include <cstddef>
#include <gtest/gtest.h>
#include <vector>

namespace {

TEST(Quarantine, LetsTheFirstLeaveFirst) {
    int blocks[5];
    reap::Quarantine<3> quarantine;
    for (int at = 0; at < 3; ++at) EXPECT_EQ(quarantine.exchange(&blocks[at]), nullptr);
    EXPECT_EQ(quarantine.size(), 3U);
    EXPECT_EQ(quarantine.exchange(&blocks[3]), &blocks[0]);
    EXPECT_EQ(quarantine.exchange(&blocks[4]), &blocks[1]);
    std::vector<void *> left;
    quarantine.drain([&left](void *block) { left.push_back(block); });
    EXPECT_EQ(left, (std::vector<void *>{&blocks[2], &blocks[3], &blocks[4]}));
    EXPECT_EQ(quarantine.size(), 0U);
    EXPECT_EQ(quarantine.exchange(&blocks[0]), nullptr);
}

TEST(Quarantine, OfNoLengthKeepsNothing) {
    int block = 0;
    EXPECT_EQ(reap::NoQuarantine<int>::exchange(&block), &block);
    EXPECT_EQ(reap::NoQuarantine<int>::size(), 0U);
}

} // namespace
