// Concern: a triage recording that has every event gives the figures of full depth, and any other those of
// its samples.
#include "totals/aggregate.h"

#include <gtest/gtest.h>

#include "reap_encode.h"
#include "trace_builder.h"

namespace {

using namespace reap::native;
using reap::test::Payload;
using reap::test::TraceBuilder;

constexpr uint64_t kPeriod = 1000;

Payload sample(uint64_t stamp, uint64_t size, uint64_t address, uint32_t stack) {
    return Payload()
        .number(stamp)
        .number(REAP_CALL_MALLOC)
        .number(size)
        .number(address)
        .number(stack)
        .number(kPeriod)
        .number(300) // the call's duration
        .number(1)
        .number(1)
        .number(0);
}

// Ten blocks by two stacks; the second block is sampled.
void write_both(TraceBuilder &trace) {
    trace.header().exact.most_events = 1000;
    trace.block(REAP_BLOCK_DEFINITIONS, {},
                Payload().image(-1, 0, "/bin/prog").frame(1, 0x1000, 0).frame(2, 0x2000, 1));
    Payload events;
    events.alloc(10, 0x1000, 100, 1).kept_alloc(20, 0x2000, 100, 2);
    events.record(REAP_TAG_SAMPLE, sample(25, 100, 0x2000, 2));
    for (uint64_t i = 0; i < 8; ++i) events.quick_known(0x3000 + i * 0x100, 100, 2);
    events.quick_free(0x1000).free(50, 0x2000);
    events.record(REAP_TAG_SAMPLE_END, Payload().number(50).number(0x2000).number(200).number(0).number(1));
    trace.block(REAP_BLOCK_EVENTS, {}, events);
    std::vector<unsigned char> bytes(sizeof(reap_counts));
    auto *counts = reinterpret_cast<reap_counts *>(bytes.data());
    counts->by_size[100] = 10;
    counts->frees = 2;
    trace.raw_block(REAP_BLOCK_COUNTS, {}, bytes);
}

Summary read(TraceBuilder &trace) {
    BlockFile file(trace.write());
    file.use_every_event();
    const Definitions definitions(file);
    return aggregate(file, definitions);
}

TEST(Exact, EveryEventCounts) {
    TraceBuilder trace(REAP_DEPTH_TRIAGE);
    write_both(trace);
    const Summary summary = read(trace);
    EXPECT_EQ(summary.depth, uint32_t{REAP_DEPTH_FULL});
    EXPECT_EQ(summary.samples, 0u); // nothing is estimated
    EXPECT_EQ(summary.images[0].objects, 10u);
    EXPECT_EQ(summary.images[0].frees, 2u);
    EXPECT_EQ(summary.tree.max_objects, 10);
    EXPECT_EQ(summary.images[0].sites[1].objects, 1);
    EXPECT_EQ(summary.images[0].sites[2].objects, 9);
    EXPECT_EQ(summary.immortal_objects, 8);
    EXPECT_EQ(summary.latencies.at(REAP_CALL_MALLOC).samples(), 1u);
    EXPECT_EQ(summary.latencies.at(REAP_CALL_FREE).samples(), 1u);
    EXPECT_GT(summary.returned.weight, 0);
    EXPECT_EQ(summary.returned.by_other_thread, 0);
}

void expect_samples_alone(TraceBuilder &trace) {
    const Summary summary = read(trace);
    EXPECT_EQ(summary.depth, uint32_t{REAP_DEPTH_TRIAGE});
    EXPECT_EQ(summary.samples, 1u);
    EXPECT_EQ(summary.images[0].objects, 10u); // by the counters
    // What is estimated adds up to what was counted.
    EXPECT_DOUBLE_EQ(summary.images[0].sites[2].objects, 10);
    EXPECT_DOUBLE_EQ(summary.images[0].sites[2].bytes, 1000);
    EXPECT_EQ(summary.images[0].sites[1 + 1].temporary, summary.images[0].sites[2].objects);
    EXPECT_GT(summary.images[0].variances[2].objects, 0);
    EXPECT_EQ(summary.immortal_objects, 0);
}

TEST(Exact, SamplesCountWhereItWasOver) {
    TraceBuilder trace(REAP_DEPTH_TRIAGE);
    write_both(trace);
    trace.header().exact.over = 1;
    expect_samples_alone(trace);
}

TEST(Exact, SamplesCountWhereEventsAreMissing) {
    TraceBuilder trace(REAP_DEPTH_TRIAGE);
    write_both(trace);
    trace.header().stop_reason = REAP_STOP_NO_SPACE;
    expect_samples_alone(trace);
}

TEST(Exact, SamplesCountInAnOlderRecording) {
    TraceBuilder trace(REAP_DEPTH_TRIAGE);
    write_both(trace);
    trace.header().exact.most_events = 0;
    expect_samples_alone(trace);
}

// A few blocks that stand for many: more than there were.
TEST(Exact, NoEstimateIsAboveACountedTotal) {
    TraceBuilder trace(REAP_DEPTH_TRIAGE);
    write_both(trace);
    trace.header().exact.over = 1;
    Payload more;
    for (uint64_t i = 0; i < 5; ++i) more.record(REAP_TAG_SAMPLE, sample(60 + i, 10, 0x9000 + i * 0x100, 1));
    trace.block(REAP_BLOCK_EVENTS, {0, 1}, more);
    const Summary summary = read(trace);
    double objects = 0;
    double bytes = 0;
    for (const SiteTotals &site : summary.images[0].sites) {
        objects += site.objects;
        bytes += site.bytes;
    }
    EXPECT_DOUBLE_EQ(objects, 10);
    EXPECT_DOUBLE_EQ(bytes, 1000);
    double lived = summary.immortal_objects;
    for (const double each : summary.lifetime_objects) lived += each;
    EXPECT_DOUBLE_EQ(lived, 10);
}

// A large block is certain to be sampled: neither what small ones stand for nor those of which none was
// sampled is charged to it.
TEST(Exact, WhatIsCertainStaysAsItIs) {
    constexpr uint64_t kLarge = 1 << 20;
    Payload events;
    for (uint64_t i = 0; i < 40; ++i)
        events.record(REAP_TAG_SAMPLE, sample(10 + i, kLarge, 0x10000000 + i * kLarge, 1));
    std::vector<unsigned char> bytes(sizeof(reap_counts));
    auto *counts = reinterpret_cast<reap_counts *>(bytes.data());
    counts->by_size[100] = 60;
    counts->large_objects[reap::format::large_bin(kLarge)] = 40;
    counts->large_bytes[reap::format::large_bin(kLarge)] = 40 * kLarge;
    const auto sites = [&bytes](const Payload &made) {
        TraceBuilder built(REAP_DEPTH_TRIAGE);
        built.block(REAP_BLOCK_DEFINITIONS, {},
                    Payload().image(-1, 0, "/bin/prog").frame(1, 0x1000, 0).frame(2, 0x2000, 0));
        built.block(REAP_BLOCK_EVENTS, {}, made);
        built.raw_block(REAP_BLOCK_COUNTS, {}, bytes);
        return read(built).images[0].sites;
    };
    const auto alone = sites(events);
    EXPECT_NEAR(alone[1].objects, 40, 0.01);
    for (uint64_t i = 0; i < 5; ++i)
        events.record(REAP_TAG_SAMPLE, sample(60 + i, 100, 0x9000 + i * 0x100, 2));
    const auto both = sites(events);
    EXPECT_NEAR(both[1].objects, 40, 0.01);
    EXPECT_NEAR(both[2].objects, 60, 0.01);
    EXPECT_NEAR(both[1].bytes + both[2].bytes, 40.0 * kLarge + 6000, 1);
}

} // namespace
