// Concern: what the recorder's stream writes the reader reads, from many threads at once and when space runs
// out.
#include "output/trace_file.h"

#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "output/record_stream.h"
#include "totals/aggregate.h"
#include "trace/block_file.h"
#include "trace/writer.h"

namespace {

using namespace reap;
using preload::kMaxHotBytes;
using preload::Owner;
using preload::RecordStream;
using preload::TraceFile;

class TraceFileTest : public testing::Test {
  protected:
    void SetUp() override {
        char folder[] = "/tmp/reap-test-XXXXXX";
        ASSERT_NE(mkdtemp(folder), nullptr);
        folder_ = folder;
        path_ = folder_ + "/trace";
        native::TraceOptions options;
        options.depth = REAP_DEPTH_FULL;
        native::create_trace(path_, options);
    }
    void TearDown() override {
        unlink(path_.c_str());
        rmdir(folder_.c_str());
    }

    // A pid that no process has, so that the blocks count as a dead process's.
    static Owner owner(uint32_t thread) { return {0x7fffffff, thread + 1, 1, 0, thread, 1}; }

    // Writes `count` pairs of alloc and free; how many fitted.
    static int write_pairs(TraceFile &trace, uint32_t thread, int count) {
        RecordStream stream;
        for (int i = 0; i < count; ++i) {
            const auto *block = reinterpret_cast<const void *>(
                uintptr_t{0x10000} + uintptr_t{thread} * 0x1000000 + static_cast<uintptr_t>(i) * 16);
            for (const reap_tag tag : {REAP_TAG_ALLOC, REAP_TAG_FREE}) {
                uint8_t *out = stream.begin(trace, REAP_BLOCK_EVENTS, owner(thread), kMaxHotBytes);
                if (out == nullptr) return i;
                *out++ = format::hot_tag(tag, tag == REAP_TAG_ALLOC ? REAP_CALL_MALLOC : REAP_CALL_FREE);
                out = stream.put_stamp(out, native::ticks_now(trace.clock()));
                if (tag == REAP_TAG_ALLOC) out = format::put_varint(out, 48);
                out = stream.put_address(out, block);
                if (tag == REAP_TAG_ALLOC) out = format::put_varint(out, 0);
                stream.commit(out);
            }
        }
        return count;
    }

    // As on a file system that cannot have long files with holes.
    void shorten() const {
        const int file = open(path_.c_str(), O_RDWR);
        const uint32_t none = 0;
        ASSERT_EQ(pwrite(file, &none, sizeof none, offsetof(reap_file_header, file_blocks)), 4);
        ASSERT_EQ(ftruncate(file, REAP_BLOCK_BYTES), 0);
        close(file);
    }

    std::string folder_;
    std::string path_;
};

TEST_F(TraceFileTest, ThreadsWriteAndTheReaderFindsAll) {
    TraceFile trace;
    ASSERT_TRUE(trace.open(path_.c_str(), nullptr));
    static constexpr int kPairs = 20000; // several blocks each
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (uint32_t number = 0; number < 4; ++number) {
        threads.emplace_back([&trace, number] { EXPECT_EQ(write_pairs(trace, number, kPairs), kPairs); });
    }
    for (std::thread &thread : threads) thread.join();
    EXPECT_EQ(native::finish_trace(path_), 0u);

    native::BlockFile file(path_);
    const native::Summary summary = native::aggregate(file, native::Definitions(file));
    EXPECT_EQ(summary.events, 4u * 2 * kPairs);
    EXPECT_EQ(summary.unmatched_frees, 0u);
    EXPECT_EQ(summary.temporary, 4 * kPairs);
    EXPECT_EQ(file.damage().malformed + file.damage().corrupt, 0u);
}

TEST_F(TraceFileTest, FinishingSealsWhatADeadProcessLeftOpen) {
    TraceFile trace;
    ASSERT_TRUE(trace.open(path_.c_str(), nullptr));
    write_pairs(trace, 0, 10);
    EXPECT_EQ(native::finish_trace(path_), 0u);
    const native::BlockFile file(path_);
    ASSERT_EQ(file.blocks().size(), 1u);
    EXPECT_EQ(file.blocks()[0].head.flags & REAP_BLOCK_SEALED, REAP_BLOCK_SEALED);
    TraceFile again;
    EXPECT_FALSE(again.open(path_.c_str(), nullptr)) << "a finished trace takes no more";
}

TEST_F(TraceFileTest, BlocksOfALivingProcessStayOpen) {
    TraceFile trace;
    ASSERT_TRUE(trace.open(path_.c_str(), nullptr));
    // Our own pid and start time, as the recorder reads them.
    std::ifstream stat("/proc/self/stat");
    std::string text;
    ASSERT_TRUE(std::getline(stat, text));
    uint64_t start = 0;
    const std::string fields = text.substr(text.rfind(')') + 2);
    size_t at = 0;
    for (int field = 3; field < 22; ++field) at = fields.find(' ', at) + 1;
    start = std::strtoull(fields.c_str() + at, nullptr, 10);
    RecordStream stream;
    const Owner alive{static_cast<uint32_t>(getpid()), 1, start, 0, 0, 1};
    ASSERT_NE(stream.begin(trace, REAP_BLOCK_EVENTS, alive, kMaxHotBytes), nullptr);
    EXPECT_EQ(native::finish_trace(path_), 1u);
}

// Whether blocks are mapped as they are on Linux from 5.14 on: a mapping is doubled, and its pages are made
// at once. valgrind doubles none.
bool can_double_mappings() {
    constexpr int populate_write = 23; // MADV_POPULATE_WRITE
    constexpr std::size_t page = 4096;
    void *const one = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    void *const other = mremap(one, 0, page, MREMAP_MAYMOVE);
    const bool can = other != MAP_FAILED && madvise(other, page, populate_write) == 0;
    munmap(one, page);
    if (other != MAP_FAILED) munmap(other, page);
    return can;
}

TEST_F(TraceFileTest, WhatIsWrittenTakesLittleMoreOfTheDisk) {
    if (!can_double_mappings()) GTEST_SKIP() << "needs Linux 5.14, and no valgrind";
    TraceFile trace;
    ASSERT_TRUE(trace.open(path_.c_str(), nullptr));
    write_pairs(trace, 0, 10);
    struct stat status{};
    ASSERT_EQ(stat(path_.c_str(), &status), 0);
    EXPECT_LE(status.st_blocks * 512, REAP_BLOCK_BYTES + 8192);
    EXPECT_EQ(native::finish_trace(path_), 0u);
    ASSERT_EQ(stat(path_.c_str(), &status), 0);
    EXPECT_EQ(status.st_size, off_t{2} * REAP_BLOCK_BYTES);
}

// How much of the trace this process has mapped.
uint64_t mapped_bytes(const std::string &path) {
    std::ifstream maps("/proc/self/maps");
    uint64_t bytes = 0;
    for (std::string line; std::getline(maps, line);) {
        if (line.find(path) == std::string::npos) continue;
        char *end = nullptr;
        const uint64_t from = strtoull(line.c_str(), &end, 16);
        bytes += strtoull(end + 1, nullptr, 16) - from;
    }
    return bytes;
}

TEST_F(TraceFileTest, ChildrenTakeBlocksFromAMappingThatTheyInherit) {
    if (!can_double_mappings()) GTEST_SKIP() << "needs Linux 5.14, and no valgrind";
    TraceFile trace;
    ASSERT_TRUE(trace.open(path_.c_str(), nullptr));
    constexpr int kPairs = 20'000; // several blocks
    write_pairs(trace, 0, kPairs);
    constexpr uint32_t kChildren = 200;
    for (uint32_t child = 1; child <= kChildren; ++child) {
        trace.before_fork();
        const pid_t pid = fork();
        if (pid == 0) {
            trace.after_fork_in_child(true);
            const uint64_t before = mapped_bytes(path_);
            uint32_t room = 64;
            const bool first = trace.add_block(REAP_BLOCK_EVENTS, owner(child), 7, 1, room) != nullptr;
            const bool mapped_none = mapped_bytes(path_) == before;
            const bool wrote = write_pairs(trace, child, kPairs) == kPairs;
            _exit(first && mapped_none && wrote ? 0 : 1);
        }
        trace.after_fork_in_parent();
        int status = 0;
        ASSERT_EQ(waitpid(pid, &status, 0), pid);
        ASSERT_EQ(status, 0);
    }
    EXPECT_LE(mapped_bytes(path_), uint64_t{66} * REAP_BLOCK_BYTES); // one mapping, not one for each child
    EXPECT_EQ(native::finish_trace(path_), 0u);
    native::BlockFile file(path_);
    std::vector<unsigned char> payload;
    for (const native::BlockInfo &block : file.blocks()) EXPECT_TRUE(file.payload(block, payload));
    EXPECT_EQ(file.damage().empty + file.damage().foreign + file.damage().corrupt, 0u);
    EXPECT_EQ(file.blocks().size(), file.header().next_block - 1);
}

TEST_F(TraceFileTest, BlocksReservedForASandboxAreUsedUpAndThatIsSaid) {
    if (!can_double_mappings()) GTEST_SKIP() << "needs Linux 5.14, and no valgrind";
    TraceFile trace;
    ASSERT_TRUE(trace.open(path_.c_str(), nullptr));
    trace.enter_sandbox();
    const rlimit none{0, 0}; // no descriptor, and no mapping, is to be had any more
    const pid_t child = fork();
    if (child == 0) {
        setrlimit(RLIMIT_NOFILE, &none);
        _exit(write_pairs(trace, 0, 10'000'000) < 10'000'000 ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(write_pairs(trace, 1, 1), 0) << "the child has used them up";
    const native::BlockFile file(path_);
    EXPECT_EQ(file.header().stop_reason, static_cast<uint32_t>(REAP_STOP_SANDBOX));
    EXPECT_EQ(file.blocks().size(), 256u);
}

// A file size limit must end the recording, not the program: SIGXFSZ would kill it.
TEST_F(TraceFileTest, AFileSizeLimitStopsTheRecordingAndSaysSo) {
    shorten();
    const pid_t child = fork();
    if (child == 0) {
        signal(SIGXFSZ, SIG_DFL);
        const rlimit limit{rlim_t{3} * REAP_BLOCK_BYTES, rlim_t{3} * REAP_BLOCK_BYTES};
        setrlimit(RLIMIT_FSIZE, &limit);
        TraceFile trace;
        if (!trace.open(path_.c_str(), nullptr)) _exit(1);
        _exit(write_pairs(trace, 0, 100000) < 100000 ? 0 : 2);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    const native::BlockFile file(path_);
    EXPECT_EQ(file.header().stop_reason, static_cast<uint32_t>(REAP_STOP_NO_SPACE));
    EXPECT_EQ(file.header().stop_errno, static_cast<uint32_t>(EFBIG));
    EXPECT_EQ(file.blocks().size(), 2u);
}

TEST_F(TraceFileTest, WhatIsNoTraceIsNotOpened) {
    TraceFile trace;
    EXPECT_FALSE(trace.open("/nonexistent/trace", nullptr));
    EXPECT_FALSE(trace.open("/dev/null", nullptr));
    EXPECT_FALSE(trace.open("", nullptr));
}

} // namespace
