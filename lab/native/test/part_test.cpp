// Concern: a trace of a part of the run gives what is within it, with times since it began, and takes frees
// of older blocks for no events.
#include "trace/block_file.h"

#include <gtest/gtest.h>

#include "totals/aggregate.h"
#include "trace_builder.h"

namespace {

using namespace reap::native;
using reap::test::Payload;
using reap::test::TraceBuilder;

Summary read(const std::string &path) {
    BlockFile file(path);
    const Definitions definitions(file);
    return aggregate(file, definitions);
}

// Blocks of 100 bytes every 100 ns from 100 on, each freed 150 ns later.
void fill(TraceBuilder &trace) {
    trace.block(REAP_BLOCK_DEFINITIONS, {}, Payload().image(-1, 0, "/bin/prog").frame(1, 0x1000, 0));
    Payload payload;
    payload.alloc(100, 0x100, 100, 1);
    for (uint64_t number = 2; number <= 9; ++number) {
        payload.alloc(number * 100, number * 0x100, 100, 1);
        payload.free(number * 100 + 50, (number - 1) * 0x100);
    }
    trace.block(REAP_BLOCK_EVENTS, {}, payload);
}

TEST(Part, HasWhatIsBetweenItsMoments) {
    TraceBuilder trace;
    fill(trace);
    trace.header().part.gate = REAP_GATE_ENDED;
    trace.header().part.began_ticks = 300;
    trace.header().part.ended_ticks = 600;
    const Summary summary = read(trace.write());
    // Allocated at 300, 400, 500 and 600; freed at 450 and 550. What is freed at 350 is older.
    EXPECT_EQ(summary.images.at(0).objects, 4u);
    EXPECT_EQ(summary.frees, 2u);
    EXPECT_EQ(summary.events, 6u);
    EXPECT_EQ(summary.calls[REAP_CALL_FREE], 2u);
    EXPECT_EQ(summary.unmatched_frees, 0u);
    EXPECT_EQ(summary.immortal_objects, 2);
    EXPECT_EQ(summary.start_ticks, 300u);
    EXPECT_EQ(summary.last_ticks, 600u);
}

TEST(Part, WithoutABeginKeepsFreesOfUnknownBlocks) {
    TraceBuilder trace;
    trace.block(REAP_BLOCK_DEFINITIONS, {}, Payload().image(-1, 0, "/bin/prog"));
    trace.block(REAP_BLOCK_EVENTS, {}, Payload().alloc(10, 0x100, 100, 0).free(20, 0x200).free(30, 0x100));
    trace.header().part.ended_ticks = 25;
    const Summary summary = read(trace.write());
    EXPECT_EQ(summary.unmatched_frees, 1u);
    EXPECT_EQ(summary.frees, 1u);
    EXPECT_EQ(summary.immortal_objects, 1);
}

TEST(Part, ShiftsTheStartOfAllClocks) {
    TraceBuilder trace;
    reap_file_header &header = trace.header();
    header.start_ticks = 1000;
    header.start_monotonic_ns = 5000;
    header.start_unix_ns = 9000;
    header.end_ticks = 3000;
    header.end_monotonic_ns = 9000; // two nanoseconds a tick
    header.part.began_ticks = 1500;
    header.part.ended_ticks = 2000;
    const BlockFile file(trace.write());
    EXPECT_EQ(file.ticks_per_second(), 5e8);
    EXPECT_EQ(file.header().start_ticks, 1500u);
    EXPECT_EQ(file.header().start_monotonic_ns, 6000u);
    EXPECT_EQ(file.header().start_unix_ns, 10000u);
    EXPECT_EQ(file.header().end_ticks, 2000u);
    EXPECT_DOUBLE_EQ(file.part().lead, 1e-6);
}

// In triage counters are those of threads that counted older blocks, too: how many are in use is estimated.
TEST(Part, DoesNotTakeCountersForBlocksInUse) {
    const auto sample = [](uint64_t stamp) {
        return Payload()
            .number(stamp)
            .number(REAP_CALL_MALLOC)
            .number(100)
            .number(0x100)
            .number(0)
            .number(1000)
            .number(0)
            .number(0)
            .number(10)
            .number(500);
    };
    for (const uint64_t began : {UINT64_C(0), UINT64_C(5)}) {
        TraceBuilder trace(REAP_DEPTH_TRIAGE);
        trace.block(REAP_BLOCK_DEFINITIONS, {}, Payload().image(-1, 0, "/bin/prog"));
        trace.block(REAP_BLOCK_EVENTS, {}, Payload().record(REAP_TAG_SAMPLE, sample(10)));
        trace.header().part.began_ticks = began;
        const Summary summary = read(trace.write());
        EXPECT_EQ(summary.samples, 1u);
        EXPECT_EQ(summary.counted.bound > 0, began == 0);
        EXPECT_GT(summary.tree.max_objects, 0);
    }
}

// The ring has taken the first two blocks of a stream.
TEST(Part, OfARingHasGaps) {
    TraceBuilder trace;
    trace.block(REAP_BLOCK_DEFINITIONS, {}, Payload().image(-1, 0, "/bin/prog"));
    for (uint32_t sequence = 0; sequence < 4; ++sequence) {
        trace.block(REAP_BLOCK_EVENTS, {0, 0, sequence},
                    Payload().alloc(100 + sequence, uint64_t{0x100} * (sequence + 1), 10));
    }
    for (const size_t index : {size_t{1}, size_t{2}}) trace.bytes(index).assign(REAP_BLOCK_BYTES, 0);
    trace.header().part.ring_blocks = 2;
    trace.header().part.began_ticks = 101;
    const std::string path = trace.write();
    BlockFile file(path);
    const Definitions definitions(file);
    EXPECT_EQ(aggregate(file, definitions).images.at(0).objects, 2u);
    EXPECT_EQ(file.damage().empty, 0u);
}

} // namespace
