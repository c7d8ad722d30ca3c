// Concern: a site's floor is the least that it had in use, and a block replaces another only where its thread
// frees that one next.
#include "sites/history.h"

#include <gtest/gtest.h>
#include <vector>

#include "trace_builder.h"

namespace {

using namespace reap::native;
using reap::test::Payload;
using reap::test::TraceBuilder;

constexpr uint64_t kAll = UINT64_MAX;

// Of a process with one thread.
SiteHistories histories(const Payload &events, uint32_t slices, uint64_t most = kAll) {
    TraceBuilder trace;
    trace.block(
        REAP_BLOCK_DEFINITIONS, {},
        Payload().image(-1, 0, "/bin/prog").frame(1, 0x1000, 0).frame(2, 0x2000, 1).frame(3, 0x3000, 1));
    trace.block(REAP_BLOCK_EVENTS, {.thread = 0}, events);
    BlockFile file(trace.write());
    const Definitions definitions(file);
    const Summary summary = aggregate(file, definitions);
    const std::vector<SiteStack> stacks{{0, 2, 0}, {0, 3, 1}, {0, 999, 0}, {7, 2, 1}, {0, 1, 5}};
    return site_histories(file, definitions, summary, stacks, 2, slices, most);
}

TEST(SiteHistories, HaveTheLeastInUseOfEachSlice) {
    const Payload events = Payload()
                               .alloc(10, 0x100, 100, 2)
                               .alloc(12, 0x200, 50, 3)
                               .alloc(14, 0x300, 30, 1) // of no site
                               .free(60, 0x100)
                               .alloc(70, 0x400, 500, 2)
                               .free(80, 0x200)
                               .alloc(99, 0x500, 1, 3);
    const SiteHistories read = histories(events, 2); // 0 to 49, 50 to 99
    ASSERT_EQ(read.sites.size(), 2u);
    EXPECT_TRUE(read.whole);
    EXPECT_EQ(read.sites[0].floors, (std::vector<double>{0, 0}));
    EXPECT_EQ(read.sites[0].freed, (std::vector<double>{0, 100}));
    EXPECT_EQ(read.sites[0].most, 500);
    EXPECT_EQ(read.sites[1].bytes, 51);
    EXPECT_EQ(read.rest.floors, (std::vector<double>{0, 30}));
    EXPECT_EQ(read.floors, (std::vector<double>{0, 80}));
}

// A buffer of `count` sizes that grows by 8 bytes.
Payload growing(uint32_t count, uint32_t other_stack) {
    Payload events;
    uint64_t now = 10;
    events.alloc(now++, 0x1000, 8, 2);
    for (uint32_t at = 1; at < count; ++at) {
        const uint32_t stack = at % 2 != 0 ? other_stack : 2;
        events.alloc(now++, 0x1000 + 0x1000 * at, 8 + 8 * uint64_t{at}, stack);
        events.free(now++, uint64_t{0x1000} * at);
    }
    return events;
}

TEST(SiteHistories, CountEqualStepsInARow) {
    const Payload events = growing(20, 2);
    const SiteHistory site = histories(events, 4).sites[0];
    EXPECT_EQ(site.replaced, 19u);
    EXPECT_EQ(site.constant, 19u);
    EXPECT_EQ(site.step, 8u);
    EXPECT_EQ(site.lead, 19u);
    EXPECT_EQ(site.largest, 8u * 19);
}

TEST(SiteHistories, CountNoFewEqualSteps) {
    const Payload events = growing(SiteHistories::kLeastRow, 2);
    EXPECT_EQ(histories(events, 4).sites[0].constant, 0u);
}

TEST(SiteHistories, CountNoBlockOfAnotherSite) {
    const Payload events = growing(20, 3);
    EXPECT_EQ(histories(events, 4).sites[0].replaced, 0u);
}

TEST(SiteHistories, CountNoBlockThatWasFreedBeforeTheNext) {
    Payload events;
    for (uint64_t at = 1; at < 20; ++at)
        events.alloc(10 * at, 0x100 * at, 8 * at, 2).free(10 * at + 1, 0x100 * at);
    EXPECT_EQ(histories(events, 4).sites[0].replaced, 0u);
}

TEST(SiteHistories, SayWhereTheyAreNotWhole) {
    Payload events;
    for (uint64_t at = 1; at < 20; ++at) events.alloc(10 * at, 0x100 * at, 8, 2);
    EXPECT_FALSE(histories(events, 4, 5).whole);
}

} // namespace
