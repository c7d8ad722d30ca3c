// Concern: the most in use at once lies between its bounds, whatever happened when between two stamps, and is
// exact where the stamps say all.
#include "totals/aggregate.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <vector>

#include "trace_builder.h"

namespace {

using namespace reap::native;
using reap::test::Payload;
using reap::test::TraceBuilder;
using reap::test::Where;

using Random = std::mt19937;

unsigned below(Random &random, unsigned limit) {
    return std::uniform_int_distribution<unsigned>(0, limit - 1)(random);
}

struct Most {
    double objects = 0;
    double bytes = 0;
};

// What really happened, event by event, and the trace of it.
class Story {
  public:
    // `stamped`: of ten events, how many have a stamp at least.
    Story(Random &random, unsigned images, unsigned threads, unsigned stamped)
        : random_(random), stamped_(stamped), threads_(threads), streams_(size_t{images} * threads),
          used_(images) {}

    void tell(unsigned events) {
        for (unsigned left = events; left != 0; --left) {
            ticks_ += 1 + below(random_, 3);
            step(below(random_, static_cast<unsigned>(streams_.size())), false);
        }
        // A process is there up to its last stamp, so each stream ends with one.
        for (unsigned stream = 0; stream < streams_.size(); ++stream) {
            ++ticks_;
            step(stream, true);
        }
        for (unsigned image = 0; image < used_.size(); ++image) lasts_[image] = last_of(image);
        replay();
    }

    [[nodiscard]] Summary read() {
        TraceBuilder trace;
        for (unsigned i = 0; i < streams_.size(); ++i)
            trace.block(REAP_BLOCK_EVENTS, Where{i / threads_, i % threads_}, streams_[i].payload);
        BlockFile file(trace.write());
        const Definitions definitions(file);
        return aggregate(file, definitions);
    }

    Most most;

  private:
    struct Block {
        uint64_t address;
        uint64_t size;
        unsigned stream;
    };
    struct Stream {
        Payload payload;
        bool begun = false;
    };
    struct Change {
        unsigned image;
        double objects;
        double bytes;
    };

    void step(unsigned at, bool last) {
        Stream &stream = streams_[at];
        const unsigned image = at / threads_;
        std::vector<Block> &blocks = used_[image];
        bool stamped = last || !stream.begun || below(random_, 10) < stamped_;
        stream.begun = true;
        if (blocks.empty() || below(random_, 5) < 3) {
            const Block block{next_address_ += 16, 1 + below(random_, 100), at};
            stamped ? stream.payload.alloc(ticks_, block.address, block.size)
                    : stream.payload.quick_alloc(block.address, block.size);
            blocks.push_back(block);
            changes_.push_back({image, 1, static_cast<double>(block.size)});
            return;
        }
        std::swap(blocks[below(random_, static_cast<unsigned>(blocks.size()))], blocks.back());
        const Block block = blocks.back();
        blocks.pop_back();
        // Another thread was the last at the address: the recorder gives such an event a stamp.
        stamped = stamped || block.stream != at;
        stamped ? stream.payload.free(ticks_, block.address) : stream.payload.quick_free(block.address);
        changes_.push_back({image, -1, -static_cast<double>(block.size)});
    }

    [[nodiscard]] size_t last_of(unsigned image) const {
        size_t last = 0;
        for (size_t i = 0; i < changes_.size(); ++i)
            if (changes_[i].image == image) last = i;
        return last;
    }

    void replay() {
        Most now;
        std::map<unsigned, Most> images;
        for (size_t i = 0; i < changes_.size(); ++i) {
            const Change &change = changes_[i];
            Most &image = images[change.image];
            for (Most *each : {&now, &image}) {
                each->objects += change.objects;
                each->bytes += change.bytes;
            }
            most = {std::max(most.objects, now.objects), std::max(most.bytes, now.bytes)};
            if (lasts_[change.image] != i) continue;
            now.objects -= image.objects;
            now.bytes -= image.bytes;
        }
    }

    Random &random_;
    unsigned stamped_;
    unsigned threads_;
    uint64_t ticks_ = 10;
    uint64_t next_address_ = 0x1000;
    std::vector<Stream> streams_;
    std::vector<std::vector<Block>> used_; // by image
    std::vector<Change> changes_;
    std::map<unsigned, size_t> lasts_;
};

void expect_within(const Between &bounds, double truth, double told) {
    EXPECT_LE(bounds.low, truth);
    EXPECT_GE(bounds.high, truth);
    EXPECT_LE(bounds.low, told); // the order that the reader takes is one that may have been
    EXPECT_GE(bounds.high, told);
}

TEST(Bounds, HoldTheTruth) {
    Random random(20261128);
    for (int i = 0; i < 400; ++i) {
        Story story(random, 1 + below(random, 3), 1 + below(random, 4), below(random, 11));
        story.tell(1 + below(random, 120));
        const Summary summary = story.read();
        expect_within(summary.most.objects, story.most.objects, summary.tree.max_objects);
        expect_within(summary.most.bytes, story.most.bytes, summary.tree.max_bytes);
        for (const ImageTotals &image : summary.images) {
            EXPECT_LE(image.most.objects.low, image.use.max_objects);
            EXPECT_GE(image.most.objects.high, image.use.max_objects);
        }
        if (HasFailure()) return;
    }
}

TEST(Bounds, AreEqualWhereEveryEventHasAStamp) {
    Random random(1);
    for (int i = 0; i < 50; ++i) {
        Story story(random, 1 + below(random, 3), 1 + below(random, 4), 10);
        story.tell(1 + below(random, 60));
        const Summary summary = story.read();
        EXPECT_EQ(summary.most.objects.low, story.most.objects);
        EXPECT_EQ(summary.most.objects.high, story.most.objects);
        EXPECT_EQ(summary.most.bytes.low, story.most.bytes);
        EXPECT_EQ(summary.most.bytes.high, story.most.bytes);
    }
}

// Whatever stamps there are: the order within a thread is known.
TEST(Bounds, AreEqualInEachProcessOfOneThread) {
    Random random(2);
    for (int i = 0; i < 50; ++i) {
        Story story(random, 3, 1, 1);
        story.tell(80);
        const Summary summary = story.read();
        for (const ImageTotals &image : summary.images) {
            EXPECT_EQ(image.most.objects.low, image.use.max_objects);
            EXPECT_EQ(image.most.objects.high, image.use.max_objects);
            EXPECT_EQ(image.most.bytes.low, image.most.bytes.high);
        }
    }
}

// Threads that allocate, wait for each other, and free: nothing says when the last of their events were.
TEST(Bounds, HoldWhatThreadsHaveThatWait) {
    constexpr unsigned kThreads = 50;
    constexpr unsigned kBlocks = 10;
    TraceBuilder trace;
    for (unsigned thread = 0; thread < kThreads; ++thread) {
        const uint64_t first = uint64_t{0x100000} * (thread + 1);
        Payload payload;
        payload.alloc(100 + thread, first, 64);
        for (unsigned i = 1; i < kBlocks; ++i) payload.quick_alloc(first + uint64_t{i} * 64, 64);
        for (unsigned i = 0; i + 1 < kBlocks; ++i) payload.quick_free(first + uint64_t{i} * 64);
        payload.free(1000 + thread, first + uint64_t{kBlocks - 1} * 64);
        trace.block(REAP_BLOCK_EVENTS, {0, thread}, payload);
    }
    BlockFile file(trace.write());
    const Definitions definitions(file);
    const Summary summary = aggregate(file, definitions);
    EXPECT_EQ(summary.most.objects.high, kThreads * kBlocks);
    EXPECT_GE(summary.most.objects.low, kThreads);
}

} // namespace
