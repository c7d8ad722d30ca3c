// nlohmann::basic_json makes its allocators itself, so that its memory is the default resource's.

#include <cstdint>
#include <gtest/gtest.h>
#include <map>
#include <memory_resource>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reap/face/allocator.h"
#include "reap/face/pmr.h"
#include "reap/layer/reap.h"

namespace {

using Json = nlohmann::basic_json<std::map, std::vector, std::string, bool, std::int64_t, std::uint64_t,
                                  double, reap::RegionAllocator>;

std::string document() {
    std::string text = "[";
    for (int i = 0; i < 1000; ++i) {
        text += i == 0 ? "" : ",";
        text += R"({"id":)" + std::to_string(i) + R"(,"name":"a name that is not short )" +
                std::to_string(i) + R"(","tags":["x","y",null,true,{"deep":[)" + std::to_string(i / 3.0) +
                "]}]}";
    }
    return text + "]";
}

TEST(Nlohmann, ParsesChangesAndWritesInAReap) {
    reap::PmrResource<reap::Reap<>> memory;
    std::pmr::memory_resource *const before = std::pmr::set_default_resource(&memory);
    {
        Json mine = Json::parse(document());
        EXPECT_GT(memory.layer().statistics().live, 100'000U);
        nlohmann::json theirs = nlohmann::json::parse(document());
        for (std::size_t i = 0; i < 1000; i += 3) {
            mine[i]["added"] = {1, "two", 3.5};
            theirs[i]["added"] = {1, "two", 3.5};
            mine[i].erase("tags");
            theirs[i].erase("tags");
        }
        EXPECT_EQ(mine.dump(), theirs.dump());
        const Json copy = mine;
        EXPECT_EQ(copy, mine);
        EXPECT_THROW(const Json cut = Json::parse("[1, 2"), Json::parse_error);
    }
    std::pmr::set_default_resource(before);
    EXPECT_EQ(memory.layer().statistics().live, 0U);
    EXPECT_TRUE(memory.layer().check());
}

} // namespace
