// Concern: over all slices and threads each group has what its nodes have; a slice's live bytes are those of
// its highest moment.
#include "totals/slices.h"

#include <gtest/gtest.h>
#include <map>
#include <numeric>
#include <tuple>

#include "trace_builder.h"

namespace {

using namespace reap::native;
using reap::test::Payload;
using reap::test::TraceBuilder;

// By slice, thread and group, what there is of a measure.
using Sliced = std::map<std::tuple<uint32_t, uint32_t, uint32_t>, double>;

struct SlicedTrace {
    // Groups are nodes.
    SlicedTrace(TraceBuilder &trace, uint32_t count)
        : file(trace.write()), definitions(file), summary(aggregate(file, definitions)),
          tree(call_tree(summary, definitions, names, 0)) {
        std::vector<uint32_t> groups(tree.parents.size());
        std::iota(groups.begin(), groups.end(), 0);
        slices = call_slices(file, definitions, summary, tree, groups, count);
    }

    Sliced of(CallTree::Measure measure) const {
        Sliced out;
        for (size_t row = 0; row < slices.groups.size(); ++row) {
            if (slices.values[measure][row] == 0) continue;
            out[{slices.slices[row], slices.by[row], slices.groups[row]}] += slices.values[measure][row];
        }
        return out;
    }

    uint32_t node(uint32_t stack) const { return tree.node_of(0, stack); }

    BlockFile file;
    Definitions definitions;
    Summary summary;
    Symbolizer symbols;
    ModuleFiles files{symbols, 0};
    ModuleNames names{definitions, symbols, files};
    CallTree tree;
    CallSlices slices;
};

Payload two_stacks() {
    return Payload().image(-1, 0, "/bin/prog").frame(1, 0x1000, 0).frame(2, 0x2000, 1).frame(3, 0x3000, 1);
}

TEST(CallSlices, HasEachMeasureInItsSlice) {
    TraceBuilder trace;
    trace.block(REAP_BLOCK_DEFINITIONS, {}, two_stacks());
    trace.block(REAP_BLOCK_EVENTS, {.thread = 0},
                Payload()
                    .alloc(10, 0x100, 100, 2)
                    .alloc(12, 0x200, 50, 3)
                    .free(14, 0x200)         // before its thread allocated again
                    .alloc(60, 0x300, 10, 2) // the highest moment of its slice is its beginning
                    .free(62, 0x100)
                    .free(64, 0x300)
                    .alloc(99, 0x400, 7, 2));
    const SlicedTrace read(trace, 2); // 0 to 49, 50 to 99
    EXPECT_EQ(read.slices.width, 50u);
    ASSERT_EQ(read.slices.threads.size(), 1u);
    const uint32_t a = read.node(2);
    const uint32_t b = read.node(3);
    EXPECT_EQ(read.of(CallTree::kBytes), (Sliced{{{0, 0, a}, 100}, {{0, 0, b}, 50}, {{1, 0, a}, 17}}));
    EXPECT_EQ(read.of(CallTree::kAllocations), (Sliced{{{0, 0, a}, 1}, {{0, 0, b}, 1}, {{1, 0, a}, 2}}));
    EXPECT_EQ(read.of(CallTree::kTemporary), (Sliced{{{0, 0, b}, 1}, {{1, 0, a}, 1}}));
    EXPECT_EQ(read.of(CallTree::kAtPeak), (Sliced{{{0, 0, a}, 100}, {{0, 0, b}, 50}, {{1, 0, a}, 110}}));
    EXPECT_EQ(read.of(CallTree::kAtExit), (Sliced{{{1, 0, a}, 7}}));
}

TEST(CallSlices, AThreadThatGoesOnInAnothersStreamHasItsOwnNumber) {
    TraceBuilder trace;
    trace.block(REAP_BLOCK_DEFINITIONS, {}, two_stacks());
    trace.block(REAP_BLOCK_EVENTS, {.thread = 0}, Payload().alloc(10, 0x100, 1, 2));
    trace.block(REAP_BLOCK_EVENTS, {.thread = 1},
                Payload()
                    .alloc(20, 0x200, 2, 2)
                    .takeover(25, 71)
                    .alloc(30, 0x300, 4, 2)
                    .free(31, 0x200)
                    .takeover(35, 72)
                    .takeover(36, 73) // the one before has done nothing
                    .alloc(40, 0x400, 8, 2));
    trace.block(REAP_BLOCK_EVENTS, {.thread = 1, .sequence = 1}, Payload().alloc(90, 0x500, 16, 2));
    const SlicedTrace read(trace, 1);
    EXPECT_EQ(read.slices.threads,
              (std::vector<std::pair<uint32_t, uint32_t>>{{1000, 0}, {1000, 1}, {1000, 2}, {1000, 3}}));
    const uint32_t a = read.node(2);
    EXPECT_EQ(read.of(CallTree::kBytes),
              (Sliced{{{0, 0, a}, 1}, {{0, 1, a}, 2}, {{0, 2, a}, 4}, {{0, 3, a}, 24}}));
}

TEST(CallSlices, WhatIsHeldThroughASliceIsInUseInIt) {
    TraceBuilder trace;
    trace.block(REAP_BLOCK_DEFINITIONS, {}, two_stacks());
    trace.block(REAP_BLOCK_EVENTS, {}, Payload().alloc(0, 0x100, 100, 2).free(99, 0x100));
    const SlicedTrace read(trace, 4);
    const uint32_t a = read.node(2);
    EXPECT_EQ(read.of(CallTree::kAtPeak),
              (Sliced{{{0, 0, a}, 100}, {{1, 0, a}, 100}, {{2, 0, a}, 100}, {{3, 0, a}, 100}}));
    EXPECT_TRUE(read.of(CallTree::kAtExit).empty());
}

TEST(CallSlices, TellsThreadsApartAndAddsUpToTheTree) {
    TraceBuilder trace;
    trace.block(REAP_BLOCK_DEFINITIONS, {}, two_stacks());
    Payload first;
    Payload second;
    for (uint64_t i = 0; i < 500; ++i) {
        first.alloc(2 * i, 0x1000 + 0x100 * i, i + 1, i % 2 == 0 ? 2 : 3);
        second.alloc(2 * i + 1, 0x100000 + 0x100 * i, 3, 2);
        if (i % 3 == 0) second.free(2 * i + 1, 0x1000 + 0x100 * i);
    }
    trace.block(REAP_BLOCK_EVENTS, {.thread = 0}, first);
    trace.block(REAP_BLOCK_EVENTS, {.thread = 1}, second);
    const SlicedTrace read(trace, 7);
    EXPECT_EQ(read.slices.threads, (std::vector<std::pair<uint32_t, uint32_t>>{{1000, 0}, {1000, 1}}));
    for (const auto measure :
         {CallTree::kAllocations, CallTree::kBytes, CallTree::kTemporary, CallTree::kAtExit}) {
        std::vector<double> sums(read.tree.parents.size());
        for (const auto &[key, value] : read.of(measure)) sums[std::get<2>(key)] += value;
        EXPECT_EQ(sums, read.tree.own[measure]);
    }
    for (const auto &[key, value] : read.of(CallTree::kBytes)) {
        if (std::get<1>(key) == 1) {
            EXPECT_EQ(std::get<2>(key), read.node(2));
        }
    }
}

// It began slices without end, until memory was full.
TEST(CallSlices, AnEventAtTheLargestStampIsInTheLastSlice) {
    TraceBuilder trace;
    trace.block(REAP_BLOCK_DEFINITIONS, {}, two_stacks());
    trace.block(REAP_BLOCK_EVENTS, {.thread = 0},
                Payload().alloc(10, 0x100, 100, 2).alloc(UINT64_MAX, 0x200, 50, 3));
    const SlicedTrace read(trace, 4);
    for (const uint32_t slice : read.slices.slices) EXPECT_LT(slice, 4u);
    EXPECT_EQ(read.slices.groups.size(), read.slices.slices.size());
}

TEST(CallSlices, OfNothingIsEmpty) {
    TraceBuilder trace;
    const SlicedTrace read(trace, 100);
    EXPECT_TRUE(read.slices.groups.empty());
    EXPECT_TRUE(read.slices.threads.empty());
}

} // namespace
