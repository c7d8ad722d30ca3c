// Concern: every stack that allocated is a path of the tree, with exactly what it allocated; what is pruned
// goes to its caller; and events refer to the nodes of their stacks.
#include "totals/call_tree.h"

#include <gtest/gtest.h>
#include <numeric>

#include "totals/event_rows.h"
#include "trace_builder.h"

namespace {

using namespace reap::native;
using reap::test::Payload;
using reap::test::TraceBuilder;

// A trace that has been read; the file is removed when the test ends.
struct Read {
    explicit Read(TraceBuilder &trace, double least = 0)
        : file(trace.write()), definitions(file), summary(aggregate(file, definitions)),
          tree(call_tree(summary, definitions, names, least)) {}

    // The addresses of a node's calls, outermost first.
    std::vector<uint64_t> path(uint32_t node) const {
        std::vector<uint64_t> out;
        for (; node != CallTree::kNone; node = tree.parents[node]) {
            const CallPlace &place = tree.places[tree.at[node]];
            if (!place.process) out.insert(out.begin(), place.address + 1);
        }
        return out;
    }

    double total(CallTree::Measure measure) const {
        const std::vector<double> &own = tree.own[measure];
        return std::accumulate(own.begin(), own.end(), 0.0);
    }

    BlockFile file;
    Definitions definitions;
    Summary summary;
    Symbolizer symbols;
    ModuleFiles files{symbols, 0};
    ModuleNames names{definitions, symbols, files};
    CallTree tree;
};

Payload nested_image() {
    return Payload()
        .image(-1, 0, "/bin/prog")
        .frame(1, 0x1000, 0)
        .frame(2, 0x2000, 1)
        .frame(3, 0x3000, 2)
        .frame(4, 0x4000, 1);
}

TEST(CallTree, HasEveryStackWithWhatItAllocated) {
    TraceBuilder trace;
    trace.block(REAP_BLOCK_DEFINITIONS, {}, nested_image());
    trace.block(REAP_BLOCK_EVENTS, {},
                Payload()
                    .alloc(10, 0x100, 100, 3)
                    .alloc(20, 0x200, 50, 4)
                    .free(30, 0x200)
                    .alloc(40, 0x300, 10, 3)
                    .alloc(50, 0x400, 7, 2));
    const Read read(trace);
    const CallTree &tree = read.tree;
    const uint32_t deep = tree.node_of(0, 3);
    EXPECT_EQ(read.path(deep), (std::vector<uint64_t>{0x1000, 0x2000, 0x3000}));
    EXPECT_EQ(tree.own[CallTree::kAllocations][deep], 2);
    EXPECT_EQ(tree.own[CallTree::kBytes][deep], 110);
    EXPECT_EQ(tree.own[CallTree::kTemporary][deep], 0);
    EXPECT_EQ(tree.own[CallTree::kAtPeak][deep], 110 - 10); // the peak is 150 bytes, at 20
    EXPECT_EQ(tree.own[CallTree::kAtExit][deep], 110);
    const uint32_t other = tree.node_of(0, 4);
    EXPECT_EQ(read.path(other), (std::vector<uint64_t>{0x1000, 0x4000}));
    EXPECT_EQ(tree.own[CallTree::kTemporary][other], 1);
    EXPECT_EQ(tree.own[CallTree::kAtPeak][other], 50);
    EXPECT_EQ(tree.own[CallTree::kAtExit][other], 0);
    const uint32_t middle = tree.node_of(0, 2);
    EXPECT_EQ(tree.own[CallTree::kBytes][middle], 7);
    EXPECT_EQ(tree.parents[deep], middle);
    EXPECT_EQ(tree.parents.size(), 5u); // the program and four frames
    EXPECT_EQ(tree.node_of(0, 99), CallTree::kNone);
    EXPECT_EQ(tree.node_of(7, 1), CallTree::kNone);
}

TEST(CallTree, ProcessesOfOneExecutableAreOneRoot) {
    TraceBuilder trace;
    trace.block(REAP_BLOCK_DEFINITIONS, {.image = 0}, nested_image());
    trace.block(REAP_BLOCK_DEFINITIONS, {.image = 1}, Payload().image(0, REAP_IMAGE_FORKED, "/bin/prog"));
    trace.block(REAP_BLOCK_DEFINITIONS, {.image = 2},
                Payload().image(-1, 0, "/bin/other").frame(1, 0x1000, 0));
    for (uint32_t image = 0; image < 3; ++image) {
        trace.block(REAP_BLOCK_EVENTS, {.image = image}, Payload().alloc(10 + image, 0x100, 100, 1));
    }
    const Read read(trace);
    EXPECT_EQ(read.tree.node_of(0, 1), read.tree.node_of(1, 1));
    EXPECT_NE(read.tree.node_of(0, 1), read.tree.node_of(2, 1));
    EXPECT_EQ(read.tree.own[CallTree::kBytes][read.tree.node_of(0, 1)], 200);
    EXPECT_EQ(std::count(read.tree.parents.begin(), read.tree.parents.end(), CallTree::kNone), 2);
}

TEST(CallTree, WhatIsPrunedGoesToItsCaller) {
    TraceBuilder trace;
    trace.block(REAP_BLOCK_DEFINITIONS, {}, nested_image());
    Payload events;
    for (uint64_t i = 0; i < 99; ++i) events.alloc(10 + i, 0x1000 + 0x100 * i, 100, 3);
    trace.block(REAP_BLOCK_EVENTS, {}, events.alloc(200, 0x100, 1, 4));
    const Read all(trace);
    const Read read(trace, 0.05);
    EXPECT_EQ(read.tree.left_out, 1u);
    EXPECT_EQ(read.tree.parents.size() + 1, all.tree.parents.size());
    EXPECT_EQ(read.path(read.tree.node_of(0, 4)), (std::vector<uint64_t>{0x1000})); // its caller's
    EXPECT_EQ(read.tree.own[CallTree::kBytes][read.tree.node_of(0, 4)], 1);
    for (const auto measure : {CallTree::kAllocations, CallTree::kBytes, CallTree::kAtExit}) {
        EXPECT_EQ(read.total(measure), all.total(measure));
    }
}

TEST(CallTree, AStackThatNobodyKnowsHasAPlaceOfItsOwn) {
    TraceBuilder trace;
    trace.block(REAP_BLOCK_DEFINITIONS, {}, nested_image());
    trace.block(REAP_BLOCK_EVENTS, {}, Payload().alloc(10, 0x100, 100, 0).alloc(20, 0x200, 5, 4000000));
    const Read read(trace);
    ASSERT_EQ(read.tree.parents.size(), 2u);
    EXPECT_EQ(read.tree.own[CallTree::kBytes][read.tree.node_of(0, 0)], 105);
}

TEST(EventRows, AreInOrderAndReferToTheirStacks) {
    TraceBuilder trace;
    trace.block(REAP_BLOCK_DEFINITIONS, {}, nested_image());
    trace.block(REAP_BLOCK_EVENTS, {.thread = 0}, Payload().alloc(10, 0x100, 100, 3).free(40, 0x100));
    trace.block(REAP_BLOCK_EVENTS, {.thread = 1}, Payload().alloc(20, 0x200, 50, 4).alloc(30, 0x300, 1));
    Read read(trace);
    std::vector<EventRows> batches;
    read_event_rows(read.file, read.definitions, read.summary, read.tree, 3, false,
                    [&](EventRows &&rows) { batches.push_back(std::move(rows)); });
    ASSERT_EQ(batches.size(), 2u);
    const EventRows &first = batches[0];
    EXPECT_EQ(first.nanoseconds, (std::vector<int64_t>{10, 20, 30}));
    EXPECT_EQ(first.addresses, (std::vector<uint64_t>{0x100, 0x200, 0x300}));
    EXPECT_EQ(first.sizes, (std::vector<uint64_t>{100, 50, 1}));
    EXPECT_EQ(first.threads, (std::vector<uint32_t>{0, 1, 1}));
    EXPECT_EQ(first.pids, (std::vector<uint32_t>{1000, 1000, 1000}));
    EXPECT_EQ(first.nodes[0], read.tree.node_of(0, 3));
    EXPECT_EQ(first.nodes[1], read.tree.node_of(0, 4));
    const EventRows &last = batches[1];
    EXPECT_EQ(last.kinds, (std::vector<uint8_t>{EventRows::kFree}));
    EXPECT_EQ(last.calls, (std::vector<uint8_t>{REAP_CALL_FREE}));
    EXPECT_EQ(last.nodes, (std::vector<uint32_t>{CallTree::kNone}));
    EXPECT_EQ(last.sizes, (std::vector<uint64_t>{0}));
}

TEST(EventRows, ThreadsThatFollowOneAnotherHaveNumbersOfTheirOwn) {
    TraceBuilder trace;
    trace.block(REAP_BLOCK_DEFINITIONS, {}, nested_image());
    trace.block(REAP_BLOCK_EVENTS, {.thread = 0},
                Payload().alloc(10, 0x100, 1).takeover(15, 7).alloc(20, 0x200, 1).free(30, 0x100));
    trace.block(REAP_BLOCK_EVENTS, {.thread = 1}, Payload().alloc(25, 0x300, 1));
    Read read(trace);
    std::vector<uint32_t> threads;
    read_event_rows(read.file, read.definitions, read.summary, read.tree, 100, false,
                    [&](EventRows &&rows) { threads = rows.threads; });
    EXPECT_EQ(threads, (std::vector<uint32_t>{0, 2, 1, 2}));
}

TEST(EventRows, AFreeHasTheSizeAndTheStackOfItsBlockWhereThatIsAskedFor) {
    TraceBuilder trace;
    trace.block(REAP_BLOCK_DEFINITIONS, {}, nested_image());
    trace.block(REAP_BLOCK_EVENTS, {},
                Payload()
                    .alloc(10, 0x100, 100, 3)
                    .free(20, 0x100)
                    .free(30, 0x900) // of a block that nobody knows
                    .realloc(40, 41, 0x900, 0x200, 7, 4)
                    .alloc(50, 0x200, 8, 3) // its free was not seen
                    .free(60, 0x200));
    Read read(trace);
    EventRows rows;
    read_event_rows(read.file, read.definitions, read.summary, read.tree, 100, true,
                    [&](EventRows &&batch) { rows = std::move(batch); });
    const uint32_t three = read.tree.node_of(0, 3);
    const uint32_t four = read.tree.node_of(0, 4);
    EXPECT_EQ(rows.sizes, (std::vector<uint64_t>{100, 100, 0, 0, 7, 8, 8}));
    EXPECT_EQ(rows.nodes,
              (std::vector<uint32_t>{three, three, CallTree::kNone, CallTree::kNone, four, three, three}));
}

} // namespace
