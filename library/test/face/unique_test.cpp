#include "reap/face/unique.h"

#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "reap/layer/fixed_block.h"
#include "reap/layer/reap.h"
#include "reap/layer/region.h"
#include "speaker.h"
#include "strict_source.h"

namespace {

using reap::make_unique;
using reap::Reap;
using reap::Region;
using reap::UniquePtr;

TEST(UniquePtr, EndsAnObjectAndFreesItsMemory) {
    std::string said;
    Reap reap;
    {
        auto speaker = make_unique<Speaker>(reap, said, 'a');
        EXPECT_TRUE(reap.owns(speaker.get()));
        auto other = std::move(speaker);
        EXPECT_EQ(said, "");
        UniquePtr<Speaker, Reap<>> none;
        none = std::move(other);
    }
    EXPECT_EQ(said, "a");
    EXPECT_EQ(reap.statistics().live, 0U);
    EXPECT_TRUE(reap.check());
}

TEST(UniquePtr, RunsTheDestructorWhereALayerFreesNoSingleObjects) {
    std::string said;
    Region region;
    auto first = make_unique<Speaker>(region, said, 'a');
    auto second = make_unique<Speaker>(region, said, 'b');
    first.reset();
    EXPECT_EQ(said, "a");
    second.reset();
    region.reset();
    EXPECT_EQ(said, "ab") << "each once";
}

TEST(UniquePtr, OwnsArrays) {
    struct alignas(64) Line {
        int number = 7;
    };
    Reap reap;
    {
        const auto lines = make_unique<Line[]>(reap, 10);
        EXPECT_EQ(reap::padding_at(lines.get(), 64), 0U);
        EXPECT_EQ(lines[9].number, 7);
        EXPECT_EQ(lines.get_deleter().count(), 10U);
        const auto numbers = make_unique<int[]>(reap, 1000);
        EXPECT_EQ(numbers[999], 0);
        const auto none = make_unique<int[]>(reap, 0);
        EXPECT_NE(none.get(), nullptr);
    }
    EXPECT_EQ(reap.statistics().live, 0U);
    EXPECT_THROW((void)make_unique<int[]>(reap, SIZE_MAX / 2), std::bad_array_new_length);
}

TEST(UniquePtr, LeavesNothingOfAConstructorThatThrows) {
    static int made = 0;
    static int ended = 0;
    struct Third {
        Third() {
            if (made == 2) throw std::runtime_error("the third");
            ++made;
        }
        ~Third() { ++ended; }
    };
    StrictSource source;
    EXPECT_THROW((void)make_unique<Third[]>(source, 5), std::runtime_error);
    EXPECT_EQ(ended, 2);
    EXPECT_THROW((void)make_unique<Third>(source), std::runtime_error);
    EXPECT_EQ(source.blocks(), 0U);
    source.fail_after(0);
    EXPECT_THROW((void)make_unique<int>(source, 1), StrictFailure);
}

TEST(UniquePtr, IsOfAnySource) {
    reap::FixedBlock<> blocks(32);
    const auto word = make_unique<std::string>(blocks, "a text that is long enough to have memory elsewhere");
    EXPECT_TRUE(blocks.owns(word.get()));
    EXPECT_THROW((void)make_unique<char[]>(blocks, 33), std::bad_alloc);
}

} // namespace
