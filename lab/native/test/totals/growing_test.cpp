// Concern: what is read of a trace while it is written, in any steps, adds up to what is read of it when it
// is whole; nothing is taken twice, and nothing before what it depends on.
#include "totals/growing.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <unistd.h>

#include "trace_builder.h"

namespace {

using namespace reap::native;
using reap::test::Payload;
using reap::test::TraceBuilder;

constexpr uint64_t kAll = UINT64_MAX;

Payload definitions() { return Payload().image(-1, 0, "/bin/prog").frame(1, 0x1000, 0).frame(2, 0x2000, 1); }

Summary whole(const std::string &path) {
    BlockFile file(path);
    const Definitions definitions(file);
    return aggregate(file, definitions);
}

// `peaks`: the order of all threads' events is known.
void expect_same(Growing &growing, const Summary &all, bool peaks = true) {
    const Growing::Now &now = growing.now();
    EXPECT_EQ(now.objects, all.by_size.objects());
    EXPECT_EQ(now.bytes, all.by_size.bytes());
    EXPECT_EQ(now.frees, all.frees);
    // A process that does nothing more has what it has until it ends; a whole trace does not say when.
    if (peaks && all.images.size() == 1) {
        EXPECT_EQ(now.peak_bytes, all.tree.max_bytes);
    }
    if (peaks) {
        EXPECT_GE(now.peak_bytes, all.tree.max_bytes);
    }
    EXPECT_EQ(now.live_bytes, 0) << "what ended has nothing in use";
    EXPECT_EQ(growing.by_size().exact, all.by_size.exact);
    EXPECT_EQ(now.processes, all.images.size());
    std::vector<double> bytes(3);
    for (const Growing::Row &row : growing.stacks(1000)) bytes.at(row.stack) += row.bytes;
    for (uint32_t stack = 0; stack < 3; ++stack) {
        double expected = 0;
        for (const ImageTotals &image : all.images)
            expected += stack < image.sites.size() ? image.sites[stack].bytes : 0;
        EXPECT_EQ(bytes[stack], expected) << stack;
    }
}

TEST(Growing, TakesWhatIsNewAlone) {
    TraceBuilder trace;
    const Payload first = Payload().alloc(10, 0x100, 100, 1).alloc(20, 0x200, 50, 2);
    trace.header().finished = 0;
    trace.process(getpid());
    trace.block(REAP_BLOCK_DEFINITIONS, {}, definitions(), false);
    trace.block(REAP_BLOCK_EVENTS, {}, first, false);
    Growing growing(trace.write());
    EXPECT_FALSE(growing.update(kAll, false));
    EXPECT_EQ(growing.now().objects, 2u);
    EXPECT_EQ(growing.now().live_bytes, 150);
    EXPECT_EQ(growing.now().running, 1u);
    EXPECT_FALSE(growing.update(kAll, false));
    EXPECT_EQ(growing.now().objects, 2u);

    Payload more = first;
    trace.replace(1, REAP_BLOCK_EVENTS, {}, more.free(30, 0x100).alloc(40, 0x300, 7, 1), true);
    trace.block(REAP_BLOCK_EVENTS, {.sequence = 1}, Payload().alloc(50, 0x400, 1, 2), false);
    trace.write();
    EXPECT_FALSE(growing.update(kAll, false));
    EXPECT_EQ(growing.now().objects, 4u);
    EXPECT_EQ(growing.now().frees, 1u);
    EXPECT_EQ(growing.now().live_bytes, 58);
    const std::vector<Growing::Row> rows = growing.stacks(10);
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0].live_bytes + rows[1].live_bytes, 58);
    EXPECT_EQ(rows[0].objects + rows[1].objects, 4);
    for (const Growing::Row &row : growing.stacks(10)) EXPECT_EQ(row.objects, 0) << "since the last call";
}

TEST(Growing, StopsAtMostSoManyEvents) {
    TraceBuilder trace;
    Payload events;
    for (uint64_t at = 1; at <= 1000; ++at) events.alloc(at, at * 16, 1, 1);
    trace.process(getpid());
    trace.block(REAP_BLOCK_DEFINITIONS, {}, definitions());
    trace.block(REAP_BLOCK_EVENTS, {}, events);
    Growing growing(trace.write());
    EXPECT_TRUE(growing.update(300, true));
    EXPECT_GE(growing.now().objects, 300u);
    EXPECT_LT(growing.now().objects, 600u);
    while (growing.update(300, true)) {
    }
    EXPECT_EQ(growing.now().objects, 1000u);
}

// A block of which the predecessor is not there yet waits for it, until nothing more can come.
TEST(Growing, KeepsTheOrderOfAThreadsBlocks) {
    TraceBuilder trace;
    trace.process(getpid());
    trace.block(REAP_BLOCK_DEFINITIONS, {}, definitions());
    trace.block(REAP_BLOCK_EVENTS, {.sequence = 1}, Payload().free(20, 0x100));
    Growing growing(trace.write());
    growing.update(kAll, false);
    EXPECT_EQ(growing.now().frees, 0u);
    trace.block(REAP_BLOCK_EVENTS, {.sequence = 0}, Payload().alloc(10, 0x100, 5, 1));
    trace.write();
    growing.update(kAll, false);
    EXPECT_EQ(growing.now().frees, 1u);
    EXPECT_EQ(growing.now().live_bytes, 0);
    EXPECT_EQ(growing.now().peak_bytes, 5);
}

TEST(Growing, WhatAProcessHadGoesWithIt) {
    TraceBuilder trace;
    trace.process(1 << 22); // above every pid
    trace.block(REAP_BLOCK_DEFINITIONS, {}, definitions(), false);
    trace.block(REAP_BLOCK_EVENTS, {}, Payload().alloc(10, 0x100, 100, 1), false);
    trace.process(getpid());
    trace.block(REAP_BLOCK_DEFINITIONS, {.image = 1}, definitions(), false);
    trace.block(REAP_BLOCK_EVENTS, {.image = 1}, Payload().alloc(20, 0x100, 7, 1), false);
    Growing growing(trace.write());
    growing.update(kAll, false);
    EXPECT_EQ(growing.now().peak_bytes, 100) << "the first had ended before the second allocated";
    EXPECT_EQ(growing.now().live_bytes, 7);
    EXPECT_EQ(growing.now().processes, 2u);
    EXPECT_EQ(growing.now().running, 1u);
    // The same process executes another program.
    trace.block(REAP_BLOCK_DEFINITIONS, {.image = 2}, definitions(), false);
    trace.write();
    growing.update(kAll, false);
    EXPECT_EQ(growing.now().live_bytes, 0);
    EXPECT_EQ(growing.now().running, 1u);
}

TEST(Growing, CountersAreReadAgain) {
    TraceBuilder trace(REAP_DEPTH_TRIAGE);
    const auto counted = [](uint64_t count) {
        std::vector<unsigned char> payload(sizeof(reap_counts));
        auto *counts = reinterpret_cast<reap_counts *>(payload.data());
        counts->by_size[16] = count;
        counts->rare[0] = {3000, 2};
        counts->frees = count / 2;
        return payload;
    };
    trace.process(getpid());
    trace.block(REAP_BLOCK_DEFINITIONS, {}, definitions(), false);
    trace.raw_block(REAP_BLOCK_COUNTS, {}, counted(10), false);
    Growing growing(trace.write());
    growing.update(kAll, false);
    EXPECT_EQ(growing.now().objects, 12u);
    trace.replace_raw(1, REAP_BLOCK_COUNTS, {}, counted(20), false);
    trace.write();
    growing.update(kAll, false);
    EXPECT_EQ(growing.now().objects, 22u);
    EXPECT_EQ(growing.now().bytes, 20u * 16 + 6000);
    EXPECT_EQ(growing.now().frees, 10u);
    growing.update(kAll, true);
    growing.update(kAll, true);
    EXPECT_EQ(growing.now().objects, 22u);
    EXPECT_EQ(growing.now().running, 0u);
}

TEST(Growing, ADamagedBlockEndsThere) {
    TraceBuilder trace;
    trace.process(getpid());
    trace.block(REAP_BLOCK_DEFINITIONS, {}, definitions(), false);
    trace.block(REAP_BLOCK_EVENTS, {}, Payload().alloc(10, 0x100, 5, 1).byte(0), false);
    Growing growing(trace.write());
    growing.update(kAll, false);
    EXPECT_EQ(growing.now().objects, 1u);
    EXPECT_EQ(growing.file().damage().malformed, 1u);
    // Nothing behind it is believed, but the next block is.
    trace.replace(1, REAP_BLOCK_EVENTS, {}, Payload().alloc(10, 0x100, 5, 1).byte(0).alloc(20, 0x200, 5, 1),
                  false);
    trace.block(REAP_BLOCK_EVENTS, {.sequence = 1}, Payload().alloc(30, 0x300, 5, 1), false);
    trace.write();
    growing.update(kAll, false);
    EXPECT_EQ(growing.now().objects, 2u);
    EXPECT_EQ(growing.file().damage().malformed, 1u);
}

TEST(Growing, SaysThatTheFileWasCutShort) {
    TraceBuilder trace;
    trace.process(getpid());
    trace.block(REAP_BLOCK_DEFINITIONS, {}, definitions(), false);
    trace.block(REAP_BLOCK_EVENTS, {}, Payload().alloc(10, 0x100, 5, 1), false);
    Growing growing(trace.write());
    growing.update(kAll, false);
    ASSERT_EQ(truncate(trace.write().c_str(), REAP_BLOCK_BYTES + 100), 0);
    growing.update(kAll, false);
    EXPECT_GT(growing.file().damage().foreign + growing.file().damage().truncated, 0u);
    EXPECT_EQ(growing.now().objects, 1u);
    ASSERT_EQ(truncate(trace.write().c_str(), 0), 0);
    EXPECT_THROW(growing.update(kAll, false), BadTrace);
}

// As names of code that was compiled at run time, which the launcher adds when it finishes.
TEST(Growing, DefinitionsOfAnEndedImageMayFollow) {
    TraceBuilder trace;
    trace.process(1 << 22); // above every pid
    trace.block(REAP_BLOCK_DEFINITIONS, {}, definitions());
    Growing growing(trace.write());
    growing.update(kAll, false);
    trace.block(REAP_BLOCK_DEFINITIONS, {.sequence = 7}, Payload().frame(3, 0x3000, 0));
    trace.write();
    growing.update(kAll, true);
    ASSERT_NE(growing.definitions().frame(0, 3), nullptr);
    EXPECT_EQ(growing.definitions().frame(0, 3)->address, 0x3000u);
}

// Threads of two processes that allocate, free each other's blocks and reallocate. Each step commits some
// more of what they did, in the order in which it was done, a thread's blocks after every few records. With
// some seeds those events alone have a stamp that follow another thread's at the same address.
TEST(Growing, AddsUpToTheWhole) {
    struct Thread {
        uint32_t image;
        uint32_t number;
        Payload payload;
        uint32_t records = 0;
        uint32_t sequence = 0;
        size_t block = 0; // in the file, from 1
    };
    for (uint32_t seed = 0; seed < 8; ++seed) {
        std::mt19937 random(seed);
        const auto below = [&random](uint64_t limit) { return random() % limit; };
        TraceBuilder trace;
        const auto process = [&trace](uint32_t image) { trace.process(image == 0 ? getpid() : getppid()); };
        std::vector<Thread> threads;
        for (uint32_t image = 0; image <= seed % 2; ++image) {
            process(image);
            trace.block(REAP_BLOCK_DEFINITIONS, {.image = image}, definitions(), false);
            for (uint32_t thread = 0; thread < 3; ++thread) threads.push_back({image, thread, {}});
        }
        std::unique_ptr<Growing> growing = std::make_unique<Growing>(trace.write());
        std::vector<std::vector<uint64_t>> live(2);
        const bool sparse = seed >= 4;
        std::map<std::pair<uint32_t, uint64_t>, uint32_t> latest; // thread, by image and address
        uint64_t ticks = 1;
        uint64_t fresh = 16;
        for (int step = 0; step < 20; ++step) {
            for (uint64_t count = below(100); count > 0; --count) {
                Thread &thread = threads[below(threads.size())];
                std::vector<uint64_t> &blocks = live[thread.image];
                process(thread.image);
                if (thread.records == 0) {
                    trace.block(REAP_BLOCK_EVENTS, {thread.image, thread.number, thread.sequence}, {}, false);
                    thread.block = trace.size();
                    thread.payload = {};
                }
                ++ticks;
                const uint64_t size = 1 + below(5000);
                const auto stack = static_cast<uint32_t>(below(3));
                const bool may_skip = sparse && thread.records != 0;
                if (blocks.empty() || below(2) == 0) {
                    blocks.push_back(fresh += 16);
                    latest[{thread.image, fresh}] = thread.number;
                    if (may_skip) {
                        thread.payload.quick_alloc(fresh, size, stack);
                    } else {
                        thread.payload.alloc(ticks, fresh, size, stack);
                    }
                } else {
                    std::swap(blocks[below(blocks.size())], blocks.back());
                    const uint64_t old = blocks.back();
                    blocks.pop_back();
                    if (may_skip && latest.at({thread.image, old}) == thread.number) {
                        thread.payload.quick_free(old);
                    } else if (below(2) == 0) {
                        thread.payload.free(ticks, old);
                    } else {
                        blocks.push_back(fresh += 16);
                        latest[{thread.image, fresh}] = thread.number;
                        thread.payload.realloc(ticks, ticks + 1, old, fresh, size, stack);
                        ++ticks;
                    }
                }
                const bool full = ++thread.records == 1 + below(40);
                trace.replace(thread.block - 1, REAP_BLOCK_EVENTS,
                              {thread.image, thread.number, thread.sequence}, thread.payload, full);
                if (full) thread.records = 0, ++thread.sequence;
            }
            trace.write();
            growing->update(1 + below(200), false);
        }
        const std::string path = trace.write();
        while (growing->update(50, true)) {
        }
        expect_same(*growing, whole(path), !sparse);
    }
}

// Found by fuzz-read-trace: the lag behind a damaged clock is a double that no integer holds.
TEST(Growing, AClockBeyondEveryIntegerHidesWhatIsNew) {
    TraceBuilder trace; // of 2^64 ticks in a nanosecond
    trace.header().finished = 0;
    trace.header().end_ticks = UINT64_MAX;
    trace.header().start_monotonic_ns = 1;
    trace.header().end_monotonic_ns = 2;
    trace.process(getpid());
    trace.block(REAP_BLOCK_DEFINITIONS, {}, definitions(), false);
    trace.block(REAP_BLOCK_EVENTS, {}, Payload().alloc(10, 0x100, 100, 1), false);
    Growing growing(trace.write());
    EXPECT_FALSE(growing.update(kAll, false));
    EXPECT_EQ(growing.now().objects, 0u);
    EXPECT_FALSE(growing.update(kAll, true));
    EXPECT_EQ(growing.now().objects, 1u);
}

} // namespace
