// RapidJSON has an interface of its own for allocators; Free() is static, so memory is freed with its region.

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <gtest/gtest.h>
#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>
#include <string>

#include "reap/layer/region.h"

namespace {

/// What a user of RapidJSON writes to have a document in a region.
class InRegion {
  public:
    static constexpr bool kNeedFree = false;

    InRegion() = default; // RapidJSON asks for it, and does not use it where one is given
    explicit InRegion(reap::Region<> &region) : region_(&region) {}
    void *Malloc(std::size_t size) { return size == 0 ? nullptr : region_->try_allocate(size); }
    void *Realloc(void *data, std::size_t old_size, std::size_t new_size) {
        if (data != nullptr && new_size != 0 && region_->resize(data, old_size, new_size)) return data;
        void *const moved = Malloc(new_size);
        if (moved != nullptr && data != nullptr) std::memcpy(moved, data, std::min(old_size, new_size));
        return moved;
    }
    static void Free(void * /*data*/) {}
    bool operator==(const InRegion &other) const { return region_ == other.region_; }

  private:
    reap::Region<> *region_ = nullptr;
};

using Document = rapidjson::GenericDocument<rapidjson::UTF8<>, InRegion, InRegion>;

TEST(RapidJson, ParsesChangesAndWritesInARegion) {
    std::string text = "[";
    for (int i = 0; i < 1000; ++i)
        text += std::string(i == 0 ? "" : ",") + R"({"id":)" + std::to_string(i) +
                R"(,"name":"a name that is not short","list":[1,2,3,[4]]})";
    text += "]";
    reap::Region region;
    for (int turn = 0; turn < 3; ++turn) {
        {
            InRegion memory(region);
            Document document(&memory, 1024, &memory);
            document.Parse(text.c_str());
            ASSERT_FALSE(document.HasParseError());
            ASSERT_EQ(document.Size(), 1000U);
            EXPECT_TRUE(region.owns(&document[0]));
            for (auto &each : document.GetArray()) {
                Document::ValueType added(rapidjson::kArrayType);
                for (int number = 0; number < 50; ++number) added.PushBack(number, memory);
                each.AddMember("added", added, memory);
            }
            rapidjson::StringBuffer written;
            rapidjson::Writer<rapidjson::StringBuffer> writer(written);
            document.Accept(writer);
            Document again(&memory, 1024, &memory);
            again.Parse(written.GetString());
            EXPECT_EQ(again, document);
        }
        region.reset();
    }
    EXPECT_LT(region.statistics().used, 100U);
}

} // namespace
