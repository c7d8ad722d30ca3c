#include "reap/layer/chunked.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "reap/core/mode.h"

// Lists of chunks, their growth, and marks, without a layer around them.

namespace {

struct Chunk {
    Chunk *older;
    std::size_t size;
};

std::vector<std::size_t> sizes(const Chunk *list) {
    std::vector<std::size_t> found;
    for (; list != nullptr; list = list->older) found.push_back(list->size);
    return found;
}

/// Three chunks of 8, 32 and 16 bytes, the last of which is the newest.
class Chunks : public ::testing::Test {
  protected:
    Chunk oldest{nullptr, 8};
    Chunk middle{&oldest, 32};
    Chunk newest{&middle, 16};
    Chunk *list = &newest;
};

TEST_F(Chunks, TakesOffTheLargest) {
    EXPECT_EQ(reap::detail::take_off(reap::detail::largest_of(list))->size, 32U);
    EXPECT_EQ(sizes(list), (std::vector<std::size_t>{16, 8}));
    Chunk *none = nullptr;
    EXPECT_EQ(*reap::detail::largest_of(none), nullptr);
}

TEST_F(Chunks, MovesTheFirst) {
    Chunk *other = nullptr;
    EXPECT_EQ(reap::detail::move_first(list, other)->size, 16U);
    EXPECT_EQ(reap::detail::move_first(list, other)->size, 32U);
    EXPECT_EQ(sizes(list), (std::vector<std::size_t>{8}));
    EXPECT_EQ(sizes(other), (std::vector<std::size_t>{32, 16}));
}

TEST_F(Chunks, PutsTheOldestFirst) {
    Chunk spare{nullptr, 64};
    std::vector<std::size_t> used;
    Chunk *const row =
        reap::detail::oldest_first(list, &spare, [&](const Chunk *chunk) { used.push_back(chunk->size); });
    EXPECT_EQ(used, (std::vector<std::size_t>{16, 32, 8}));
    EXPECT_EQ(sizes(row), (std::vector<std::size_t>{8, 32, 16, 64}));
}

struct Options {
    std::size_t first_chunk = 8;
    std::size_t growth = 2;
    std::size_t largest_chunk = 48;
    std::size_t limit = 100;
};

TEST(ChunkGrowth, ContinuesFromTheLatest) {
    const Options options;
    const Chunk latest{nullptr, 16};
    const Chunk large{nullptr, 40};
    const Chunk enormous{nullptr, std::numeric_limits<std::size_t>::max()};
    EXPECT_EQ(reap::detail::next_chunk(options, static_cast<const Chunk *>(nullptr)), 8U);
    EXPECT_EQ(reap::detail::next_chunk(options, &latest), 32U);
    EXPECT_EQ(reap::detail::next_chunk(options, &large), 48U);
    EXPECT_EQ(reap::detail::next_chunk(options, &enormous), 48U) << "the product does not fit";
}

TEST(ChunkGrowth, StaysBelowTheLimit) {
    EXPECT_EQ(reap::detail::below_limit(Options{}, 30), 70U);
    EXPECT_EQ(reap::detail::below_limit(Options{}, 130), 0U) << "more is held than allowed";
}

struct Layer {
    struct Record {
        Record *older;
        std::uint64_t serial;
    };
    using Mark = reap::detail::Mark<Layer, Record>;

    Mark mark(Record &record) {
        record = {records, ++reap::detail::marks_taken};
        records = &record;
        Mark taken;
        taken.refer_to(records);
        return taken;
    }
    [[nodiscard]] const Record *find(const Mark &mark) const { return mark.find_in(records); }

    Record *records = nullptr;
};

TEST(Mark, IsFoundUntilItIsStale) {
    Layer layer;
    std::array<Layer::Record, 2> records{};
    const Layer::Mark older = layer.mark(records[0]);
    const Layer::Mark newer = layer.mark(records[1]);
    EXPECT_EQ(layer.find(older), records.data());
    EXPECT_EQ(layer.find(newer), &records[1]);
    layer.records = records.data(); // rewound
    EXPECT_EQ(layer.find(newer), nullptr);
    EXPECT_EQ(layer.find(Layer::Mark{}), nullptr);
    const Layer::Mark again = layer.mark(records[1]);
    EXPECT_EQ(layer.find(again), &records[1]);
    EXPECT_EQ(layer.find(newer), nullptr) << "another mark's record is at the same address";
}

TEST(Mark, IsUnknownToOtherLayers) {
    Layer layer;
    Layer other;
    Layer::Record record{};
    Layer::Record others{};
    const Layer::Mark mark = layer.mark(record);
    const Layer::Mark foreign = other.mark(others);
    EXPECT_EQ(layer.find(foreign), nullptr);
    EXPECT_EQ(other.find(mark), nullptr);
}

} // namespace
