#include "reap/face/json.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "reap/layer/best_fit.h"
#include "reap/layer/count.h"
#include "reap/layer/fixed_block.h"
#include "reap/layer/mempool.h"
#include "reap/layer/obstack.h"
#include "reap/layer/per_thread.h"
#include "reap/layer/reap.h"
#include "reap/layer/region.h"
#include "reap/layer/region_emulator.h"
#include "reap/layer/size_class_allocator.h"
#include "reap/layer/stack_like.h"
#include "reap/source/arena.h"
#include <gtest/gtest.h>

namespace {

template <class Statistics>
std::string json(const Statistics &statistics) {
    char text[512];
    const std::size_t length = reap::to_json(statistics, text, sizeof text);
    EXPECT_EQ(std::string(text).size(), length);
    return text;
}

TEST(Json, HasEveryMemberOfEveryLayersStatistics) {
    EXPECT_EQ(json(reap::RegionStatistics{1, 2, 3, 4, 5}),
              R"({"held":1,"used":2,"spare":3,"chunks":4,"large_objects":5})");
    EXPECT_EQ(json(reap::ReapStatistics{1, 2, 3, 4, 5, 6, 7}),
              R"({"held":1,"live":2,"free":3,"largest_hole":4,"spare":5,"chunks":6,"large_objects":7})");
    EXPECT_EQ(json(reap::ObstackStatistics{1, 2, 3, 4}), R"({"held":1,"used":2,"spare":3,"chunks":4})");
    EXPECT_EQ(json(reap::StackLikeStatistics{1, 2, 3}), R"({"held":1,"used":2,"pieces":3})");
    EXPECT_EQ(json(reap::MempoolStatistics{1, 2, 3, 4}), R"({"held":1,"live":2,"spare":4,"chunks":3})");
    EXPECT_EQ(json(reap::FixedBlockStatistics{1, 2, 3, 4}), R"({"held":1,"live":4,"spare":2,"chunks":3})");
    EXPECT_EQ(json(reap::SizeClassStatistics{1, 2}), R"({"held":1,"live":2})");
    EXPECT_EQ(json(reap::PerThreadStatistics{1, 2, 3}), R"({"held":1,"live":2,"threads":3})");
    EXPECT_EQ(json(reap::BestFitStatistics{1, 2, 3, 4}), R"({"free":2,"chunks":1,"large":3,"purged":4})");
    EXPECT_EQ(json(reap::RegionEmulatorStatistics{1, 2}), R"({"objects":1,"records":2})");
    EXPECT_EQ(json(reap::ArenaStatistics{1, 2, 3}), R"({"held":1,"used":2,"mappings":3})");
    EXPECT_EQ(json(reap::CountStatistics{1, 2, 3, 4, 5, 6, 7}),
              R"({"allocations":1,"deallocations":2,"failures":3,"bytes":4,"live_blocks":5,"live_bytes":6,)"
              R"("peak_bytes":7})");
}

TEST(Json, FollowsALayer) {
    reap::Region region;
    static_cast<void>(region.allocate(1000));
    const reap::RegionStatistics now = region.statistics();
    EXPECT_NE(
        json(now).find("\"held\":" + std::to_string(now.held) + ",\"used\":" + std::to_string(now.used)),
        std::string::npos);
}

TEST(Json, EndsWithinTheBufferAndTellsTheWholeLength) {
    constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
    const reap::SizeClassStatistics statistics{most, 0};
    const std::string whole = R"({"held":18446744073709551615,"live":0})";
    for (std::size_t size = 0; size <= whole.size() + 1; ++size) {
        std::string text(whole.size() + 2, '#');
        EXPECT_EQ(reap::to_json(statistics, text.data(), size), whole.size());
        if (size > 0) {
            EXPECT_STREQ(text.c_str(), whole.substr(0, size - 1).c_str());
        }
        EXPECT_EQ(text.find('#'), size) << "nothing behind the buffer is written";
    }
    EXPECT_EQ(reap::to_json(statistics, nullptr, 0), whole.size());
    EXPECT_LT(json(reap::CountStatistics{most, most, most, most, most, most, most}).size(), 256U);
    EXPECT_LT(json(reap::ReapStatistics{most, most, most, most, most, most, most}).size(), 256U);
}

TEST(Json, AnObjectMayHaveWordsAndMayBeEmpty) {
    char text[64];
    reap::detail::JsonObject empty(text, sizeof text);
    EXPECT_EQ(empty.end(), 2U);
    EXPECT_STREQ(text, "{}");
    reap::detail::JsonObject object(text, sizeof text);
    object.add("library", "libreap");
    object.add("count", 7);
    static_cast<void>(object.end());
    EXPECT_STREQ(text, R"({"library":"libreap","count":7})");
}

} // namespace
