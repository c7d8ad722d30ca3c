// Concern: what short records say that have no stamp, are packed, or refer to a stack that was kept.
#include <gtest/gtest.h>
#include <random>
#include <unordered_map>

#include "totals/aggregate.h"
#include "trace_builder.h"

namespace {

using namespace reap::native;
using reap::test::Payload;
using reap::test::TraceBuilder;

Summary summary_of(TraceBuilder &trace, Damage *damage = nullptr) {
    BlockFile file(trace.write());
    const Definitions definitions(file);
    Summary summary = aggregate(file, definitions);
    if (damage != nullptr) *damage = file.damage();
    return summary;
}

Payload two_frames() { return Payload().image(-1, 0, "/bin/prog").frame(1, 0x1000, 0).frame(2, 0x2000, 1); }

// Two stamps 80 ticks apart, and three events between them at equal steps.
TEST(ShortRecords, EventsWithoutAStampLieBetweenTwoStamps) {
    TraceBuilder trace;
    trace.block(REAP_BLOCK_DEFINITIONS, {}, two_frames());
    trace.block(REAP_BLOCK_EVENTS, {},
                Payload()
                    .alloc(1000, 0x100, 100, 1)
                    .quick_alloc(0x200, 50, 2)
                    .quick_free(0x100)
                    .quick_free(0x200)
                    .alloc(1080, 0x300, 10, 1));
    const Summary summary = summary_of(trace);
    EXPECT_EQ(summary.images[0].objects, 3u);
    EXPECT_EQ(summary.frees, 2u);
    EXPECT_EQ(summary.unmatched_frees, 0u);
    EXPECT_EQ(summary.tree.max_bytes, 150);
    EXPECT_EQ(summary.images[0].sites[2].objects, 1);
    EXPECT_EQ(summary.calls[REAP_CALL_MALLOC], 3u);
    EXPECT_EQ(summary.calls[REAP_CALL_FREE], 2u);
    EXPECT_EQ(summary.lifetime_objects[5], 2); // 1000 to 1040, and 1020 to 1060
    EXPECT_EQ(summary.last_ticks, 1080u);
}

TEST(ShortRecords, PackedEventsAreAsOthersWithoutAStamp) {
    TraceBuilder trace;
    trace.block(REAP_BLOCK_DEFINITIONS, {}, two_frames());
    trace.block(REAP_BLOCK_EVENTS, {},
                Payload()
                    .alloc(1000, 0x10000, 100, 1)
                    .quick_alloc(0x20008, 50, 2)
                    .quick_free(0x20008)
                    .quick_alloc(0x20000, 1, 1)
                    .packed_malloc(0x100f0, 3000, 2)
                    .packed_free(0x10000)
                    .packed_malloc(0x20010, 7, 1)
                    .packed_free(0x100f0)
                    .alloc(1080, 0x300, 10, 1));
    const Summary summary = summary_of(trace);
    EXPECT_EQ(summary.images[0].objects, 6u);
    EXPECT_EQ(summary.frees, 3u);
    EXPECT_EQ(summary.unmatched_frees, 0u);
    EXPECT_EQ(summary.tree.max_bytes, 3101);
    EXPECT_EQ(summary.images[0].sites[2].bytes, 3050);
    EXPECT_EQ(summary.images[0].sites[1].bytes, 118);
    EXPECT_EQ(summary.calls[REAP_CALL_MALLOC], 6u);
    EXPECT_EQ(summary.calls[REAP_CALL_FREE], 3u);
    EXPECT_EQ(summary.lifetime_objects[5], 1); // 1000 to 1050: there are eight steps of 10 ticks
    EXPECT_EQ(summary.lifetime_objects[4], 1); // 1040 to 1070
}

TEST(ShortRecords, PackedEventsMayHaveAStamp) {
    TraceBuilder trace;
    trace.block(REAP_BLOCK_DEFINITIONS, {}, two_frames());
    trace.block(REAP_BLOCK_EVENTS, {},
                Payload()
                    .kept_alloc(1000, 0x10000, 100, 2)
                    .timed_malloc(1040, 0x10100, 10, 2)
                    .timed_free(1050, 0x10000)
                    .packed_free(0x10100)
                    .timed_malloc(41050, 0x10200, 5, 2));
    const Summary summary = summary_of(trace);
    EXPECT_EQ(summary.images[0].sites[2].bytes, 115);
    EXPECT_EQ(summary.frees, 2u);
    EXPECT_EQ(summary.unmatched_frees, 0u);
    EXPECT_EQ(summary.calls[REAP_CALL_MALLOC], 3u);
    EXPECT_EQ(summary.lifetime_objects[5], 1);  // 1000 to 1050
    EXPECT_EQ(summary.lifetime_objects[14], 1); // 1040 to 21050
    EXPECT_EQ(summary.last_ticks, 41050u);
}

TEST(ShortRecords, APackedFreeWithBitsThatMeanNothingIsDamage) {
    TraceBuilder trace;
    trace.block(REAP_BLOCK_DEFINITIONS, {}, two_frames());
    trace.block(REAP_BLOCK_EVENTS, {}, Payload().alloc(1, 16, 1, 1).byte(REAP_TAG_PACKED_FREE | 64u).byte(2));
    Damage damage;
    EXPECT_EQ(summary_of(trace, &damage).frees, 0u);
    EXPECT_EQ(damage.malformed, 1u);
}

TEST(ShortRecords, EventsBehindTheLastStampOfABlockHaveItsTime) {
    TraceBuilder trace;
    trace.block(REAP_BLOCK_DEFINITIONS, {}, two_frames());
    Payload many;
    many.alloc(1000, 0x10, 1, 1);
    for (uint64_t at = 2; at < 402; ++at) many.quick_alloc(at * 16, 1, 1);
    trace.block(REAP_BLOCK_EVENTS, {}, many);
    trace.block(REAP_BLOCK_EVENTS, {0, 0, 1}, Payload().free(2000, 0x10));
    const Summary summary = summary_of(trace);
    EXPECT_EQ(summary.images[0].objects, 401u);
    EXPECT_EQ(summary.lifetime_objects[9], 1); // 1000 to 2000
    EXPECT_EQ(summary.last_ticks, 2000u);
}

// In time the second block of thread 1 at 0x100 would be freed behind all that thread 0 does with the
// address.
TEST(ShortRecords, NoOtherThreadsEventIsBetweenOneWithoutAStampAndTheOneBefore) {
    TraceBuilder trace;
    trace.block(REAP_BLOCK_DEFINITIONS, {}, two_frames());
    trace.block(REAP_BLOCK_EVENTS, {0, 1, 0},
                Payload()
                    .alloc(1000, 0x100, 1, 1)
                    .quick_free(0x100)
                    .quick_alloc(0x100, 20, 1)
                    .quick_free(0x100)
                    .alloc(5000, 0x200, 1, 1));
    trace.block(REAP_BLOCK_EVENTS, {0, 0, 0},
                Payload()
                    .alloc(1001, 0x100, 4, 2)
                    .quick_free(0x100)
                    .quick_alloc(0x100, 3, 2)
                    .free(1100, 0x200)
                    .free(5001, 0x200));
    const Summary summary = summary_of(trace);
    EXPECT_EQ(summary.unmatched_frees, 1u) << "the free of 0x200 before it was allocated";
    EXPECT_EQ(summary.images[0].objects, 5u);
    EXPECT_EQ(summary.temporary, 3);
    EXPECT_EQ(summary.tree.max_bytes, 20);
    EXPECT_EQ(summary.immortal_bytes, 3);
    EXPECT_EQ(summary.images[0].sites[2].at_exit, 3);
    EXPECT_EQ(summary.last_ticks, 5001u);
}

// Threads that allocate, free and reallocate at a few addresses. Once each event has its stamp, and once
// those alone that follow another thread's at the same address, and some others.
TEST(ShortRecords, EventsAtAnAddressAreInOrderByTheStampsOfThoseWhereThreadsMeet) {
    struct Thread {
        Payload all;
        Payload some;
        uint64_t unstamped = UINT64_MAX; // in a row; a block begins with a stamp
    };
    struct Block {
        size_t latest; // thread
        uint64_t size;
        bool used;
    };
    for (uint32_t seed = 0; seed < 20; ++seed) {
        std::mt19937 random(seed);
        std::vector<Thread> threads(1 + seed % 4);
        std::unordered_map<uint64_t, Block> blocks;
        size_t left_out = 0;
        for (uint64_t ticks = 1; ticks <= 4000; ticks += 1 + random() % 3) {
            const size_t number = random() % threads.size();
            Thread &thread = threads[number];
            const uint64_t address = 0x1000 + random() % 128 * 16;
            const auto [found, first] = blocks.try_emplace(address, Block{number, 0, false});
            Block &block = found->second;
            const bool needs_stamp = block.latest != number || thread.unstamped >= 15 || random() % 8 == 0;
            const auto stack = static_cast<uint32_t>(1 + random() % 2);
            const uint64_t size = 1 + random() % 5000;
            block.latest = number;
            if (block.used && random() % 4 == 0) {
                thread.all.realloc(ticks, ticks, address, address, size, stack);
                thread.some.realloc(ticks, ticks, address, address, size, stack);
                thread.unstamped = 0;
                continue;
            }
            block.used = !block.used;
            if (block.used) {
                thread.all.alloc(ticks, address, size, stack);
            } else {
                thread.all.free(ticks, address);
            }
            if (needs_stamp) {
                block.used ? thread.some.alloc(ticks, address, size, stack)
                           : thread.some.free(ticks, address);
                thread.unstamped = 0;
            } else {
                block.used ? thread.some.quick_alloc(address, size, stack) : thread.some.quick_free(address);
                ++thread.unstamped;
                ++left_out;
            }
        }
        TraceBuilder every;
        TraceBuilder some;
        for (TraceBuilder *trace : {&every, &some}) {
            trace->block(REAP_BLOCK_DEFINITIONS, {}, two_frames());
            for (size_t i = 0; i < threads.size(); ++i)
                trace->block(REAP_BLOCK_EVENTS, {0, static_cast<uint32_t>(i), 0},
                             trace == &every ? threads[i].all : threads[i].some);
        }
        EXPECT_GT(left_out, 200u);
        const Summary expected = summary_of(every);
        const Summary summary = summary_of(some);
        EXPECT_EQ(summary.unmatched_frees, 0u);
        EXPECT_EQ(summary.frees, expected.frees);
        EXPECT_EQ(summary.temporary, expected.temporary);
        EXPECT_EQ(summary.immortal_objects, expected.immortal_objects);
        EXPECT_EQ(summary.immortal_bytes, expected.immortal_bytes);
        EXPECT_EQ(summary.calls, expected.calls);
        ASSERT_EQ(summary.images[0].sites.size(), expected.images[0].sites.size());
        for (size_t stack = 0; stack < expected.images[0].sites.size(); ++stack) {
            const SiteTotals &site = summary.images[0].sites[stack];
            const SiteTotals &right = expected.images[0].sites[stack];
            EXPECT_EQ(site.objects, right.objects);
            EXPECT_EQ(site.bytes, right.bytes);
            EXPECT_EQ(site.temporary, right.temporary);
            EXPECT_EQ(site.at_exit, right.at_exit);
        }
    }
}

TEST(ShortRecords, AStackThatWasKeptIsFoundByItsPlaceInTheSameBlock) {
    TraceBuilder trace;
    Payload definitions = two_frames();
    for (uint32_t id = 3; id <= 258; ++id) definitions.frame(id, 0x1000 + id, 0);
    trace.block(REAP_BLOCK_DEFINITIONS, {}, definitions);
    trace.block(REAP_BLOCK_EVENTS, {},
                Payload()
                    .alloc(10, 0x100, 1, 1)
                    .quick_alloc(0x200, 2, 2)
                    .quick_known(0x300, 4, 2)
                    .quick_alloc(0x400, 8, 258)
                    .quick_known(0x500, 16, 2)
                    .alloc(20, 0x600, 32, 1));
    trace.block(REAP_BLOCK_EVENTS, {0, 0, 1}, Payload().alloc(30, 0x700, 64, 1).quick_known(0x800, 128, 2));
    const Summary summary = summary_of(trace);
    const std::vector<SiteTotals> &sites = summary.images[0].sites;
    EXPECT_EQ(sites[2].bytes, 2 + 4);
    EXPECT_EQ(sites[258].bytes, 8 + 16);
    EXPECT_EQ(sites[1].bytes, 1 + 32 + 64);
    EXPECT_EQ(sites[0].bytes, 128); // the places of a block are empty where it begins
}

} // namespace
