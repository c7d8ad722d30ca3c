// Concern: what is said of where blocks lie is what their addresses say, at the moment when most are in use.
#include "totals/heap_map.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace_builder.h"

namespace {

using namespace reap::native;
using reap::test::Payload;
using reap::test::TraceBuilder;

constexpr uint32_t kPid = 1000; // of image 0, as TraceBuilder has it

HeapMap map_of(TraceBuilder &trace, const std::vector<Window> &littered, size_t cells = 100) {
    BlockFile file(trace.write());
    const Definitions definitions(file);
    return heap_map(file, definitions, kPid, littered, cells);
}

TraceBuilder &with_image(TraceBuilder &trace) {
    return trace.block(REAP_BLOCK_DEFINITIONS, {}, Payload().image(-1, 0, "/bin/prog"));
}

TEST(HeapMap, TellsTheProgramsBlocksFromTheLitter) {
    TraceBuilder trace;
    with_image(trace).block(REAP_BLOCK_EVENTS, {},
                            Payload()
                                .alloc(10, 0x10000, 1000)
                                .alloc(11, 0x11000, 500)
                                .alloc(12, 0x15000, 100)
                                .free(13, 0x15000) // the page stays known
                                .alloc(30, 0x10800, 64)
                                .alloc(31, 0x12000, 4096));
    const HeapMap map = map_of(trace, {{kPid, 5, 20}});
    EXPECT_EQ(map.pages, 4u);
    EXPECT_EQ(map.litter_bytes, 1500u);
    EXPECT_EQ(map.litter_pages, 2u);
    EXPECT_EQ(map.program_bytes, 4160u);
    EXPECT_EQ(map.program_pages, 2u);
    EXPECT_EQ(map.program_objects, 2u);
    ASSERT_EQ(map.cells.size(), 4u);
    EXPECT_EQ(map.cells[0].litter, 1000u);
    EXPECT_EQ(map.cells[0].program, 64u);
    EXPECT_EQ(map.cells[2].program, 4096u);
    EXPECT_EQ(map.cells[3].litter + map.cells[3].program, 0u);
}

TEST(HeapMap, IsOfTheMomentWithMostBlocks) {
    TraceBuilder trace;
    with_image(trace).block(REAP_BLOCK_EVENTS, {},
                            Payload()
                                .alloc(10, 0x10000, 100)
                                .alloc(20, 0x20000, 100)
                                .free(30, 0x10000)
                                .free(40, 0x20000)
                                .alloc(50, 0x90000, 100000));
    const HeapMap map = map_of(trace, {});
    EXPECT_EQ(map.program_objects, 2u);
    EXPECT_EQ(map.program_bytes, 200u);
    EXPECT_EQ(map.pages, 2u) << "what comes later is not on the map";
    EXPECT_EQ(map.allocations, 3u) << "but counts among the allocations";
}

TEST(HeapMap, ABlockThatSpansPagesFillsEach) {
    TraceBuilder trace;
    with_image(trace).block(REAP_BLOCK_EVENTS, {}, Payload().alloc(10, 0x10ff0, 0x1020));
    const HeapMap map = map_of(trace, {});
    ASSERT_EQ(map.cells.size(), 3u);
    EXPECT_EQ(map.cells[0].program, 0x10u);
    EXPECT_EQ(map.cells[1].program, 0x1000u);
    EXPECT_EQ(map.cells[2].program, 0x10u);
}

TEST(HeapMap, NeighbouringPagesShareACell) {
    TraceBuilder trace;
    Payload events;
    for (uint64_t page = 0; page < 10; ++page) events.alloc(10 + page, 0x10000 + page * 0x3000, 10 + page);
    with_image(trace).block(REAP_BLOCK_EVENTS, {}, events);
    const HeapMap map = map_of(trace, {}, 4);
    ASSERT_EQ(map.cells.size(), 4u);
    EXPECT_EQ(map.cells[0].pages, 3u);
    EXPECT_EQ(map.cells[0].program, 10u + 11 + 12);
    EXPECT_EQ(map.cells[3].pages, 1u);
}

TEST(HeapMap, RunsAreCountedForEachThread) {
    TraceBuilder trace;
    with_image(trace)
        .block(REAP_BLOCK_EVENTS, {0, 0, 0},
               Payload()
                   .alloc(10, 0x10000, 48)
                   .alloc(20, 0x10040, 48) // behind it, past a header
                   .alloc(30, 0x10080, 48)
                   .alloc(40, 0x10000 - 64, 48) // before them
                   .alloc(50, 0x20000, 48))
        .block(REAP_BLOCK_EVENTS, {0, 1, 0},
               Payload().alloc(15, 0x50000, 1000).alloc(25, 0x50000 + 1280, 1000)); // a size class above
    const HeapMap map = map_of(trace, {});
    EXPECT_EQ(map.allocations, 7u);
    EXPECT_EQ(map.runs, 4u);
    EXPECT_EQ(map.longest_run, 3u);
}

TEST(HeapMap, OtherProcessesAreNotOnIt) {
    TraceBuilder trace;
    with_image(trace)
        .block(REAP_BLOCK_DEFINITIONS, {1, 0, 0}, Payload().image(0, 0, "/bin/child"))
        .block(REAP_BLOCK_EVENTS, {0, 0, 0}, Payload().alloc(10, 0x10000, 48))
        .block(REAP_BLOCK_EVENTS, {1, 0, 0}, Payload().alloc(20, 0x90000, 48));
    EXPECT_EQ(map_of(trace, {}).allocations, 1u);
}

// Kilobytes of resident memory, now (VmRSS) or at most (VmHWM).
long kilobytes_of(const char *name) {
    long kilobytes = 0;
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");
    while (status != nullptr && fgets(line, sizeof line, status) != nullptr) {
        if (strncmp(line, name, strlen(name)) == 0) kilobytes = strtol(line + strlen(name) + 1, nullptr, 10);
    }
    if (status != nullptr) fclose(status);
    return kilobytes;
}

// What making the map takes at most, in kilobytes, in a process of its own.
long growth(TraceBuilder &trace) {
    int ends[2];
    if (pipe(ends) != 0) return -1;
    const pid_t child = fork();
    if (child == 0) {
        malloc_trim(0); // what other tests have freed would be room for it
        const long before = kilobytes_of("VmRSS");
        map_of(trace, {});
        const long grown = kilobytes_of("VmHWM") - before;
        _exit(::write(ends[1], &grown, sizeof grown) != sizeof grown);
    }
    close(ends[1]);
    long grown = -1;
    if (::read(ends[0], &grown, sizeof grown) != sizeof grown) grown = -1;
    close(ends[0]);
    waitpid(child, nullptr, 0);
    return grown;
}

TEST(HeapMap, TheWalkThatFindsTheMomentHoldsNothingWhileThePagesAreFound) {
    constexpr uint32_t kPayloads = 40;
    constexpr uint64_t kEvents = 5000; // in each
    TraceBuilder kept, freed;
    with_image(kept);
    with_image(freed);
    for (uint32_t sequence = 0; sequence < 2 * kPayloads; ++sequence) {
        const bool frees = sequence >= kPayloads;
        Payload events;
        for (uint64_t at = sequence * kEvents; at < (sequence + 1) * kEvents; ++at) {
            if (frees) {
                events.free(10 + at, 0x100000 + (at - kPayloads * kEvents) * 16);
            } else {
                events.alloc(10 + at, 0x100000 + at * 16, 16);
            }
        }
        if (!frees) kept.block(REAP_BLOCK_EVENTS, {0, 0, sequence}, events);
        freed.block(REAP_BLOCK_EVENTS, {0, 0, sequence}, events);
    }
    const long once = growth(freed);
    ASSERT_GT(once, 4'000) << "the blocks' map is no longer most of what grows";
    EXPECT_LT(growth(kept), once * 5 / 4) << "two maps of all blocks at once, where nothing is freed";
}

TEST(HeapMap, AnEmptyTraceHasAnEmptyMap) {
    TraceBuilder trace;
    const HeapMap map = map_of(with_image(trace), {{kPid, 1, 2}});
    EXPECT_EQ(map.pages, 0u);
    EXPECT_TRUE(map.cells.empty());
}

} // namespace
