// Concern: what comes out of a trace is what its writers put in, in the order of their stamps, whatever the
// order of the blocks, and whatever has happened to the file.
#include "totals/aggregate.h"

#include <gtest/gtest.h>
#include <random>
#include <system_error>
#include <unordered_map>

#include "trace/writer.h"
#include "trace_builder.h"

namespace {

using namespace reap::native;
using reap::test::Payload;
using reap::test::TraceBuilder;

Summary read(const std::string &path, Damage *damage = nullptr) {
    BlockFile file(path);
    const Definitions definitions(file);
    Summary summary = aggregate(file, definitions);
    if (damage != nullptr) *damage = file.damage();
    return summary;
}

Payload one_image() { return Payload().image(-1, 0, "/bin/prog").frame(1, 0x1000, 0).frame(2, 0x2000, 1); }

TEST(Aggregate, CountsLiveAndPeakOfOneThread) {
    TraceBuilder trace;
    trace.block(REAP_BLOCK_DEFINITIONS, {}, one_image());
    trace.block(
        REAP_BLOCK_EVENTS, {},
        Payload().alloc(10, 0x100, 100, 1).alloc(20, 0x200, 50, 2).free(30, 0x100).alloc(40, 0x300, 10, 1));
    const Summary summary = read(trace.write());
    ASSERT_EQ(summary.images.size(), 1u);
    EXPECT_EQ(summary.images[0].objects, 3u);
    EXPECT_EQ(summary.images[0].bytes, 160u);
    EXPECT_EQ(summary.frees, 1u);
    EXPECT_EQ(summary.tree.max_bytes, 150);
    EXPECT_EQ(summary.tree.max_objects, 2);
    EXPECT_EQ(summary.immortal_objects, 2);
    EXPECT_EQ(summary.images[0].sites[1].at_peak, 100);
    EXPECT_EQ(summary.images[0].sites[2].at_peak, 50);
}

// Of an attached recording: each sample says itself how many allocations it stands for, and no more.
TEST(Aggregate, ASampleWithoutAPeriodHasAWeightAndNoLife) {
    TraceBuilder trace(REAP_DEPTH_TRIAGE);
    trace.header().attached = 1;
    trace.block(REAP_BLOCK_DEFINITIONS, {}, one_image());
    const auto sample = [](uint64_t stamp, uint64_t size, uint32_t stack, uint64_t weight, uint64_t address) {
        return Payload()
            .number(stamp)
            .number(REAP_CALL_MALLOC)
            .number(size)
            .number(address)
            .number(stack)
            .number(0) // period
            .number(0)
            .number(weight)
            .number(0)
            .number(0);
    };
    trace.block(REAP_BLOCK_EVENTS, {},
                Payload()
                    .record(REAP_TAG_SAMPLE, sample(10, 100, 1, uint64_t{40} * REAP_WEIGHT_UNIT, 0))
                    .record(REAP_TAG_SAMPLE, sample(20, 50, 2, uint64_t{3} * REAP_WEIGHT_UNIT / 2, 0)));
    Damage damage;
    const Summary summary = read(trace.write(), &damage);
    EXPECT_EQ(damage.malformed, 0u);
    EXPECT_EQ(summary.samples, 2u);
    EXPECT_EQ(summary.weight, 41.5);
    EXPECT_EQ(summary.images[0].sites[1].objects, 40);
    EXPECT_EQ(summary.images[0].sites[1].bytes, 4000);
    EXPECT_EQ(summary.images[0].sites[1].at_exit, 0);
    EXPECT_EQ(summary.images[0].sites[2].objects, 1.5);
    EXPECT_EQ(summary.tree.max_bytes, 0);
    EXPECT_EQ(summary.immortal_objects, 0);
    EXPECT_TRUE(summary.latencies.empty());
    // Without a weight, or with an address, such a record makes no sense.
    for (const Payload &bad : {sample(10, 100, 1, 0, 0), sample(10, 100, 1, 1024, 0x100)}) {
        TraceBuilder broken(REAP_DEPTH_TRIAGE);
        broken.block(REAP_BLOCK_DEFINITIONS, {}, one_image());
        broken.block(REAP_BLOCK_EVENTS, {}, Payload().record(REAP_TAG_SAMPLE, bad));
        EXPECT_EQ(read(broken.write(), &damage).samples, 0u);
        EXPECT_EQ(damage.malformed, 1u);
    }
}

// The most blocks, not the most bytes: two sizes grow and shrink, and a large one comes when few are in use.
TEST(Aggregate, KnowsTheSizesInUseAtThePeakOfBlocks) {
    TraceBuilder trace;
    trace.block(REAP_BLOCK_DEFINITIONS, {}, one_image());
    trace.block(REAP_BLOCK_EVENTS, {},
                Payload()
                    .alloc(1, 0x100, 24, 1)
                    .alloc(2, 0x200, 24, 1)
                    .alloc(3, 0x300, 5000, 1)
                    .free(4, 0x100)
                    .free(5, 0x200)
                    .alloc(6, 0x400, 100000, 1)
                    .alloc(7, 0x500, 32, 1)
                    .free(8, 0x500));
    const Summary summary = read(trace.write());
    EXPECT_EQ(summary.tree.max_objects, 3);
    const std::vector<SizeInUse> &sizes = summary.sizes_in_use;
    EXPECT_EQ(sizes[24].peak_objects, 2u);
    EXPECT_EQ(sizes[24].peak_bytes, 48u);
    EXPECT_EQ(sizes[32].peak_objects, 0u);
    uint64_t large = 0;
    for (size_t bin = REAP_EXACT_SIZES; bin < sizes.size(); ++bin) large += sizes[bin].peak_bytes;
    EXPECT_EQ(large, 5000u);
}

// Requests of `phase`, one for each number of blocks, of 100 bytes each.
std::vector<unsigned char> requests_of(const std::string &phase, const std::vector<uint64_t> &blocks) {
    std::vector<unsigned char> bytes(sizeof(reap_requests));
    auto *counts = reinterpret_cast<reap_requests *>(bytes.data());
    phase.copy(counts->phase, sizeof counts->phase);
    for (const uint64_t number : blocks) {
        ++counts->count;
        counts->allocations += number;
        counts->bytes += 100 * number;
        counts->most_allocations = std::max(counts->most_allocations, number);
        counts->most_bytes = std::max(counts->most_bytes, 100 * number);
        ++counts->by_allocations[reap::format::request_bin(number)];
        ++counts->by_bytes[reap::format::request_bin(100 * number)];
    }
    return bytes;
}

TEST(Aggregate, AddsUpTheRequestsOfAPhase) {
    TraceBuilder trace;
    trace.block(REAP_BLOCK_DEFINITIONS, {}, one_image());
    trace.raw_block(REAP_BLOCK_REQUESTS, {}, requests_of("warm", {1, 2, 2}));
    trace.raw_block(REAP_BLOCK_REQUESTS, {0, 1}, requests_of("warm", {50}));
    trace.raw_block(REAP_BLOCK_REQUESTS, {0, 1, 1}, requests_of("", {100000}));
    Damage damage;
    const Summary summary = read(trace.write(), &damage);
    ASSERT_EQ(summary.requests.size(), 2u);
    const RequestTotals &warm = summary.requests[0];
    EXPECT_EQ(warm.phase, "warm");
    EXPECT_EQ(warm.count, 4u);
    EXPECT_EQ(warm.allocations, 55u);
    EXPECT_EQ(warm.bytes, 5500u);
    EXPECT_EQ(warm.most_allocations, 50u);
    EXPECT_EQ(request_quantile(warm.by_allocations, warm.most_allocations, 0.5), 2u);
    EXPECT_EQ(request_quantile(warm.by_allocations, warm.most_allocations, 0.99), 50u);
    const RequestTotals &unnamed = summary.requests[1];
    EXPECT_NEAR(static_cast<double>(request_quantile(unnamed.by_allocations, UINT64_MAX, 0.5)), 100000, 800);
    EXPECT_EQ(request_quantile(std::vector<uint64_t>(REAP_REQUEST_BINS), 7, 0.5), 0u);
    EXPECT_EQ(damage.malformed, 0u);
}

TEST(Aggregate, RequestsThatAreCutShortAreDamage) {
    TraceBuilder trace;
    trace.block(REAP_BLOCK_DEFINITIONS, {}, one_image());
    std::vector<unsigned char> whole = requests_of(std::string(REAP_PHASE_BYTES, 'x'), {1});
    trace.raw_block(REAP_BLOCK_REQUESTS, {}, whole); // a name without an end
    whole.resize(whole.size() - 1);
    trace.raw_block(REAP_BLOCK_REQUESTS, {0, 1}, whole);
    Damage damage;
    const Summary summary = read(trace.write(), &damage);
    EXPECT_EQ(summary.requests.at(0).count, 1u);
    EXPECT_EQ(summary.requests.at(0).phase, std::string(REAP_PHASE_BYTES, 'x'));
    EXPECT_EQ(damage.malformed, 1u);
}

TEST(Aggregate, TemporaryIsWhatIsFreedBeforeTheThreadAllocatesAgain) {
    TraceBuilder trace;
    trace.block(REAP_BLOCK_DEFINITIONS, {}, one_image());
    trace.block(REAP_BLOCK_EVENTS, {},
                Payload()
                    .alloc(1, 0x100, 8, 1)
                    .free(2, 0x100)
                    .alloc(3, 0x100, 8, 1)
                    .alloc(4, 0x200, 8, 1)
                    .free(5, 0x100));
    EXPECT_EQ(read(trace.write()).temporary, 1);
}

// An address that one thread frees and another gets at once: stamps alone say which block a free belongs to.
TEST(Aggregate, OneAddressWandersBetweenThreads) {
    TraceBuilder trace;
    trace.block(REAP_BLOCK_DEFINITIONS, {}, one_image());
    // Written so that the order of blocks, and of threads, contradicts the order of time.
    trace.block(REAP_BLOCK_EVENTS, {0, 2, 0}, Payload().alloc(30, 0x100, 7, 1).free(60, 0x100));
    trace.block(REAP_BLOCK_EVENTS, {0, 1, 0}, Payload().free(20, 0x100).alloc(50, 0x200, 5, 1));
    trace.block(REAP_BLOCK_EVENTS, {0, 0, 0}, Payload().alloc(10, 0x100, 1000, 2).free(70, 0x200));
    const Summary summary = read(trace.write());
    EXPECT_EQ(summary.unmatched_frees, 0u);
    EXPECT_EQ(summary.tree.max_bytes, 1000);
    EXPECT_EQ(summary.immortal_objects, 0);
    EXPECT_EQ(summary.tree.objects, 0);
}

// Between the two halves of a realloc another thread may get the old address.
TEST(Aggregate, ReallocGivesTheOldBlockBackBeforeItHasTheNewOne) {
    TraceBuilder trace;
    trace.block(REAP_BLOCK_DEFINITIONS, {}, one_image());
    trace.block(REAP_BLOCK_EVENTS, {0, 0, 0},
                Payload().alloc(10, 0x100, 64, 1).realloc(20, 40, 0x100, 0x900, 128, 1));
    trace.block(REAP_BLOCK_EVENTS, {0, 1, 0}, Payload().alloc(30, 0x100, 32, 1).free(50, 0x100));
    const Summary summary = read(trace.write());
    EXPECT_EQ(summary.unmatched_frees, 0u);
    EXPECT_EQ(summary.immortal_bytes, 128);
    EXPECT_EQ(summary.calls[REAP_CALL_REALLOC], 1u);
    EXPECT_EQ(summary.calls[REAP_CALL_FREE], 1u);
}

TEST(Aggregate, BlocksOfAThreadAreReadInSequence) {
    TraceBuilder trace;
    trace.block(REAP_BLOCK_DEFINITIONS, {}, one_image());
    trace.block(REAP_BLOCK_EVENTS, {0, 0, 1}, Payload().free(20, 0x100));
    trace.block(REAP_BLOCK_EVENTS, {0, 0, 0}, Payload().alloc(10, 0x100, 1, 1));
    EXPECT_EQ(read(trace.write()).unmatched_frees, 0u);
}

TEST(Aggregate, ProcessesHaveAddressesOfTheirOwn) {
    TraceBuilder trace;
    trace.block(REAP_BLOCK_DEFINITIONS, {0}, one_image());
    trace.block(REAP_BLOCK_DEFINITIONS, {1}, Payload().image(0, REAP_IMAGE_FORKED, "/bin/prog"));
    trace.block(REAP_BLOCK_EVENTS, {0}, Payload().alloc(10, 0x100, 10, 1).free(40, 0x100));
    // The child frees what its parent allocated (unknown here), and uses the same address for itself.
    trace.block(REAP_BLOCK_EVENTS, {1}, Payload().free(20, 0x100).alloc(30, 0x100, 20, 2));
    const Summary summary = read(trace.write());
    ASSERT_EQ(summary.images.size(), 2u);
    EXPECT_EQ(summary.tree.max_bytes, 30);
    EXPECT_EQ(summary.unmatched_frees, 1u);
    EXPECT_EQ(summary.images[1].sites[2].bytes, 20); // a stack that the parent defined
}

TEST(Aggregate, TriageCountsComeFromTheCounters) {
    TraceBuilder trace(REAP_DEPTH_TRIAGE);
    trace.block(REAP_BLOCK_DEFINITIONS, {}, one_image());
    std::vector<unsigned char> payload(sizeof(reap_counts));
    auto *counts = reinterpret_cast<reap_counts *>(payload.data());
    counts->by_size[16] = 5;
    counts->large_objects[reap::format::large_bin(10000)] = 2;
    counts->large_bytes[reap::format::large_bin(10000)] = 20000;
    counts->calls[REAP_CALL_CALLOC] = 3;
    counts->frees = 4;
    trace.raw_block(REAP_BLOCK_COUNTS, {}, payload);
    const Summary summary = read(trace.write());
    EXPECT_EQ(summary.images[0].objects, 7u);
    EXPECT_EQ(summary.images[0].bytes, 20080u);
    EXPECT_EQ(summary.calls[REAP_CALL_MALLOC], 4u);
    EXPECT_EQ(summary.calls[REAP_CALL_FREE], 4u);
}

// A process that does little has one block: its definitions and events are within its counters.
TEST(Aggregate, BlocksWithinCountersAndRareSizesAreRead) {
    TraceBuilder trace(REAP_DEPTH_TRIAGE);
    reap_counts counts{};
    counts.by_size[16] = 5;
    counts.rare[0] = {16, 1};
    counts.rare[1] = {3000, 2};
    counts.rare[2] = {10000, 3};
    TraceBuilder::put_within(counts.definitions, REAP_BLOCK_DEFINITIONS, {}, one_image());
    Payload sample;
    sample.number(10).number(REAP_CALL_MALLOC).number(3000).number(0x100).number(1).number(100).number(1);
    TraceBuilder::put_within(counts.events, REAP_BLOCK_EVENTS, {},
                             Payload().record(REAP_TAG_SAMPLE, sample.number(3000).number(8).number(0)));
    std::vector<unsigned char> payload(sizeof counts);
    std::memcpy(payload.data(), &counts, sizeof counts);
    trace.raw_block(REAP_BLOCK_COUNTS, {}, payload, false);
    const std::string path = trace.write();
    Damage damage;
    Summary summary = read(path, &damage);
    ASSERT_EQ(summary.images.size(), 1u);
    EXPECT_EQ(summary.images[0].objects, 11u);
    EXPECT_EQ(summary.images[0].bytes, 6 * 16 + 2 * 3000 + 3 * 10000u);
    EXPECT_EQ(summary.by_size.exact[3000], 2u);
    EXPECT_EQ(summary.by_size.large_objects[reap::format::large_bin(10000)], 3u);
    EXPECT_EQ(summary.events, 1u);
    EXPECT_EQ(damage.foreign + damage.malformed, 0u);

    reap::native::finish_trace(path); // the checksums of both hold
    summary = read(path, &damage);
    EXPECT_EQ(summary.images[0].objects, 11u);
    EXPECT_EQ(summary.events, 1u);
    EXPECT_EQ(damage.corrupt, 0u);
}

TEST(Damage, AShortBlockThatIsNoneIsCountedAndPassedOver) {
    TraceBuilder trace(REAP_DEPTH_TRIAGE);
    reap_counts counts{};
    TraceBuilder::put_within(counts.definitions, REAP_BLOCK_DEFINITIONS, {}, one_image());
    TraceBuilder::put_within(counts.events, REAP_BLOCK_REQUESTS, {}, Payload());
    std::vector<unsigned char> payload(sizeof counts);
    std::memcpy(payload.data(), &counts, sizeof counts);
    trace.raw_block(REAP_BLOCK_COUNTS, {}, payload);
    Damage damage;
    const Summary summary = read(trace.write(), &damage);
    EXPECT_EQ(summary.images.size(), 1u);
    EXPECT_EQ(damage.foreign, 1u);
}

// The estimator: many programs, sampled as the recorder samples, must on average give the truth.
TEST(Aggregate, SampledLiveBytesAreUnbiased) {
    std::mt19937_64 random(7);
    double sum = 0;
    constexpr int kRuns = 200;
    constexpr double kTruth = 1000 * 200.0;
    for (int run = 0; run < kRuns; ++run) {
        TraceBuilder trace(REAP_DEPTH_TRIAGE);
        trace.block(REAP_BLOCK_DEFINITIONS, {}, one_image());
        Payload events;
        for (uint64_t block = 0; block < 1000; ++block) {
            const uint64_t period = block < 500 ? 2000 : 6000; // a mean gap that changes on the way
            const double drawn = 1 - std::exp(-216.0 / static_cast<double>(period));
            if (std::uniform_real_distribution<>(0, 1)(random) >= drawn) continue;
            events.record(REAP_TAG_SAMPLE, Payload()
                                               .number(block)
                                               .number(REAP_CALL_MALLOC)
                                               .number(200)
                                               .number(0x1000 + block * 256)
                                               .number(1)
                                               .number(period)
                                               .number(30)
                                               .number(block * 216)
                                               .number(block + 1)
                                               .number(0));
        }
        trace.block(REAP_BLOCK_EVENTS, {}, events);
        sum += read(trace.write()).tree.max_bytes;
    }
    EXPECT_NEAR(sum / kRuns / kTruth, 1.0, 0.02);
}

TEST(Aggregate, SampledBlocksAreToldByWhetherTheirOwnThreadFreesThem) {
    const auto sample = [](uint64_t at) {
        Payload body;
        body.number(10).number(REAP_CALL_MALLOC).number(8).number(at).number(1).number(100).number(1);
        return body.number(10).number(1).number(0);
    };
    const auto end = [](uint64_t at, uint64_t thread) {
        return Payload().number(40).number(at).number(0).number(thread).number(20);
    };
    TraceBuilder trace(REAP_DEPTH_TRIAGE);
    trace.block(REAP_BLOCK_DEFINITIONS, {}, one_image());
    Payload one;
    one.record(REAP_TAG_SAMPLE, sample(0x100)).record(REAP_TAG_SAMPLE, sample(0x200));
    one.record(REAP_TAG_SAMPLE, sample(0x300)).record(REAP_TAG_SAMPLE, sample(0x400)); // the last is kept
    one.record(REAP_TAG_SAMPLE_END, end(0x100, 0)).record(REAP_TAG_SAMPLE_END, end(0x200, 1));
    trace.block(REAP_BLOCK_EVENTS, {0, 0, 0}, one);
    trace.block(REAP_BLOCK_EVENTS, {0, 1, 0}, Payload().record(REAP_TAG_SAMPLE_END, end(0x300, 1)));
    const Returned returned = read(trace.write()).returned;
    EXPECT_GT(returned.weight, 0);
    EXPECT_NEAR(returned.by_other_thread, returned.weight * 2 / 3, 1e-6 * returned.weight);
}

// Samples carry the exact counters: what was in use at one is known, and between two it is bounded.
TEST(Aggregate, BlocksInUseAreCountedAtSamples) {
    const auto sample = [](uint64_t ticks, uint64_t at, uint64_t allocations, uint64_t frees) {
        Payload body;
        body.number(ticks).number(REAP_CALL_MALLOC).number(8).number(at).number(1).number(100).number(1);
        return body.number(ticks).number(allocations).number(frees);
    };
    TraceBuilder trace(REAP_DEPTH_TRIAGE);
    trace.block(REAP_BLOCK_DEFINITIONS, {}, one_image());
    Payload one;
    one.record(REAP_TAG_SAMPLE, sample(10, 0x100, 50, 0)).record(REAP_TAG_SAMPLE, sample(30, 0x200, 90, 80));
    trace.block(REAP_BLOCK_EVENTS, {0, 0, 0}, one);
    trace.block(REAP_BLOCK_EVENTS, {0, 1, 0}, Payload().record(REAP_TAG_SAMPLE, sample(20, 0x300, 7, 2)));
    const Summary summary = read(trace.write());
    EXPECT_EQ(summary.counted.most, 55);  // at 20: 50 and 5
    EXPECT_EQ(summary.counted.low, 48);   // at 10: 50, and the other may have freed its two before
    EXPECT_EQ(summary.counted.bound, 97); // just before 20: 50 and the 40 that came until 30, and 7
    EXPECT_EQ(summary.images[0].counted.most, 55);
}

TEST(Damage, AnUnsealedBlockIsReadUpToWhatWasCommitted) {
    TraceBuilder trace;
    trace.block(REAP_BLOCK_DEFINITIONS, {}, one_image());
    trace.block(REAP_BLOCK_EVENTS, {}, Payload().alloc(10, 0x100, 100, 1), false);
    // What a killed process had written behind the committed length is noise.
    std::fill(trace.bytes(1).begin() + 200, trace.bytes(1).end(), static_cast<unsigned char>(0xff));
    Damage damage;
    const Summary summary = read(trace.write(), &damage);
    EXPECT_EQ(summary.events, 1u);
    EXPECT_EQ(damage.corrupt + damage.malformed + damage.truncated, 0u);
}

TEST(Damage, AFlippedBitInASealedBlockIsFound) {
    TraceBuilder trace;
    trace.block(REAP_BLOCK_DEFINITIONS, {}, one_image());
    trace.block(REAP_BLOCK_EVENTS, {}, Payload().alloc(10, 0x100, 100, 1));
    trace.bytes(1)[REAP_BLOCK_HEADER_BYTES + 2] ^= 1;
    Damage damage;
    EXPECT_EQ(read(trace.write(), &damage).events, 0u);
    EXPECT_EQ(damage.corrupt, 1u);
}

TEST(Damage, ACutFileIsReadAsFarAsItGoes) {
    TraceBuilder trace;
    trace.block(REAP_BLOCK_DEFINITIONS, {}, one_image());
    trace.block(REAP_BLOCK_EVENTS, {0, 0, 0}, Payload().alloc(10, 0x100, 100, 1));
    trace.block(REAP_BLOCK_EVENTS, {0, 0, 1}, Payload().alloc(20, 0x200, 100, 1));
    Damage damage;
    const Summary summary = read(trace.write(3 * uint64_t{REAP_BLOCK_BYTES} + 10), &damage);
    EXPECT_EQ(summary.events, 1u);
    EXPECT_EQ(damage.truncated, 1u);
}

TEST(Damage, RecordsOfALaterVersionArePassedOver) {
    TraceBuilder trace;
    trace.block(REAP_BLOCK_DEFINITIONS, {}, one_image().record(0xe0, Payload().text("new")));
    trace.block(REAP_BLOCK_EVENTS, {},
                Payload().alloc(10, 0x100, 1, 1).record(0xd0, Payload().number(1)).free(20, 0x100));
    Damage damage;
    EXPECT_EQ(read(trace.write(), &damage).events, 2u);
    EXPECT_EQ(damage.malformed, 0u);
}

TEST(Damage, AnUnknownHotRecordEndsItsBlockAlone) {
    TraceBuilder trace;
    trace.block(REAP_BLOCK_DEFINITIONS, {}, one_image());
    trace.block(REAP_BLOCK_EVENTS, {0, 0, 0},
                Payload().alloc(10, 0x100, 1, 1).byte(0x0f).alloc(11, 0x200, 1, 1));
    trace.block(REAP_BLOCK_EVENTS, {0, 0, 1}, Payload().alloc(20, 0x300, 1, 1));
    Damage damage;
    EXPECT_EQ(read(trace.write(), &damage).events, 2u);
    EXPECT_EQ(damage.malformed, 1u);
}

TEST(Damage, AHugeStackNumberDoesNotAllocateForIt) {
    TraceBuilder trace;
    trace.block(REAP_BLOCK_DEFINITIONS, {}, one_image());
    trace.block(REAP_BLOCK_EVENTS, {}, Payload().alloc(10, 0x100, 1, 0xfffffff0));
    const Summary summary = read(trace.write());
    EXPECT_LE(summary.images[0].sites.size(), 3u);
    EXPECT_EQ(summary.images[0].sites[0].objects, 1); // nowhere
}

// Found by fuzz-read-trace: a double that no integer holds was converted to one.
TEST(Damage, TimesBeyondEveryIntegerAreCut) {
    for (const uint64_t ticks_per_second : {UINT64_C(1'000'000'000), UINT64_C(1), UINT64_MAX}) {
        TraceBuilder trace;
        trace.header().ticks_per_second = ticks_per_second;
        trace.block(REAP_BLOCK_DEFINITIONS, {}, one_image());
        trace.block(REAP_BLOCK_EVENTS, {}, Payload().alloc(1, 0x100, 8, 1).free(UINT64_MAX - 1, 0x100));
        EXPECT_EQ(read(trace.write()).frees, 1u);
    }
    TraceBuilder trace; // a clock of 2^64 ticks in a nanosecond
    trace.header().end_ticks = UINT64_MAX;
    trace.header().start_monotonic_ns = 1;
    trace.header().end_monotonic_ns = 2;
    trace.block(REAP_BLOCK_DEFINITIONS, {}, one_image());
    trace.block(REAP_BLOCK_EVENTS, {}, Payload().alloc(1, 0x100, 8, 1).free(2, 0x100));
    EXPECT_EQ(read(trace.write()).frees, 1u);
}

// Found by fuzz-read-trace: the last of all moments was taken to be in a bin behind the last.
TEST(Damage, TheLastOfAllMomentsHasABin) {
    for (const uint64_t start : {UINT64_C(0), UINT64_MAX}) {
        Timeline timeline(start, 1);
        timeline.level(UINT64_MAX, 7);
        ASSERT_FALSE(timeline.bins().empty());
        EXPECT_EQ(timeline.bins().back().high, 7);
    }
    EXPECT_TRUE(Timeline(0, 1).bins().empty());
}

TEST(Damage, EveryNumberHasABinInAHistogram) {
    EXPECT_LT(LogHistogram::bin(UINT64_MAX), LogHistogram::kBins);
    LogHistogram histogram;
    histogram.add(UINT64_MAX, 1);
    EXPECT_GT(histogram.quantile(0.5), 0x1p63);
}

TEST(Damage, AHugeThreadNumberDoesNotAllocateForIt) {
    TraceBuilder trace;
    trace.block(REAP_BLOCK_DEFINITIONS, {}, one_image());
    trace.block(REAP_BLOCK_EVENTS, {0, 0xfffffff0, 0}, Payload().alloc(10, 0x100, 1, 1));
    Damage damage;
    EXPECT_EQ(read(trace.write(), &damage).events, 0u);
    EXPECT_EQ(damage.foreign, 1u);
}

TEST(Damage, WhatIsNoTraceIsRefused) {
    EXPECT_THROW(BlockFile("/nonexistent/trace"), std::system_error);
    EXPECT_THROW(BlockFile("/dev/null"), BadTrace);
    TraceBuilder trace;
    for (const uint32_t version : {REAP_TRACE_VERSION + 1, REAP_TRACE_OLDEST - 1}) {
        trace.header().version = version;
        EXPECT_THROW(BlockFile(trace.write()), BadTrace);
    }
    trace.header().version = REAP_TRACE_OLDEST;
    EXPECT_NO_THROW(BlockFile(trace.write()));
    trace.header().version = REAP_TRACE_VERSION;
    trace.header().magic = 1;
    EXPECT_THROW(BlockFile(trace.write()), BadTrace);
}

// A random program with the truth kept beside it.
TEST(Aggregate, AgreesWithAModelOnRandomThreads) {
    std::mt19937_64 random(20261120);
    for (int round = 0; round < 20; ++round) {
        constexpr int kThreads = 4;
        std::vector<Payload> threads(kThreads);
        std::unordered_map<uint64_t, uint64_t> live;
        uint64_t bytes = 0;
        uint64_t peak = 0;
        uint64_t total = 0;
        for (uint64_t ticks = 1; ticks <= 2000; ++ticks) {
            Payload &thread = threads[random() % kThreads];
            const uint64_t address = 16 + random() % 64 * 16; // few, so that they wander between threads
            const auto found = live.find(address);
            if (found != live.end()) {
                bytes -= found->second;
                live.erase(found);
                thread.free(ticks, address);
            } else {
                const uint64_t size = random() % 5000;
                live.emplace(address, size);
                bytes += size;
                total += size;
                peak = std::max(peak, bytes);
                thread.alloc(ticks, address, size, 1 + random() % 2);
            }
        }
        TraceBuilder trace;
        trace.block(REAP_BLOCK_DEFINITIONS, {}, one_image());
        for (uint32_t i = 0; i < kThreads; ++i)
            trace.block(REAP_BLOCK_EVENTS, {0, kThreads - i, 0}, threads[i]);
        const Summary summary = read(trace.write());
        EXPECT_EQ(summary.images[0].bytes, total);
        EXPECT_EQ(summary.tree.max_bytes, static_cast<double>(peak));
        EXPECT_EQ(summary.immortal_bytes, static_cast<double>(bytes));
        EXPECT_EQ(summary.unmatched_frees, 0u);
        double at_peak = 0;
        for (const SiteTotals &site : summary.images[0].sites) at_peak += site.at_peak;
        EXPECT_EQ(at_peak, static_cast<double>(peak));
    }
}

} // namespace
