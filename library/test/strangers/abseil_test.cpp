#include <absl/container/btree_map.h>
#include <absl/container/flat_hash_map.h>
#include <absl/container/inlined_vector.h>
#include <absl/container/node_hash_map.h>

#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <utility>

#include "reap/face/allocator.h"
#include "reap/layer/reap.h"

namespace {

using Entry = std::pair<const int, std::string>;
using Allocator = reap::StlAllocator<Entry, reap::Reap<>>;
using Flat = absl::flat_hash_map<int, std::string, std::hash<int>, std::equal_to<>, Allocator>;
using Nodes = absl::node_hash_map<int, std::string, std::hash<int>, std::equal_to<>, Allocator>;
using Tree = absl::btree_map<int, std::string, std::less<>, Allocator>;

template <class Map>
class AbseilMaps : public testing::Test {};
using Maps = testing::Types<Flat, Nodes, Tree>;
TYPED_TEST_SUITE(AbseilMaps, Maps);

TYPED_TEST(AbseilMaps, AreInAReap) {
    reap::Reap reap;
    {
        TypeParam mine{Allocator(reap)};
        std::map<int, std::string> theirs;
        for (int i = 0; i < 20'000; ++i) {
            const int key = i * 7919 % 5003;
            if (i % 3 == 0) {
                EXPECT_EQ(mine.erase(key), theirs.erase(key));
            } else {
                mine[key] = std::to_string(i);
                theirs[key] = std::to_string(i);
            }
        }
        EXPECT_EQ(std::map(mine.begin(), mine.end()), theirs);
        const TypeParam copy = mine;
        EXPECT_EQ(copy, mine);
        TypeParam other{Allocator(reap)};
        other = std::move(mine);
        EXPECT_EQ(other.size(), theirs.size());
        EXPECT_GT(reap.statistics().live, theirs.size() * sizeof(Entry));
    }
    EXPECT_EQ(reap.statistics().live, 0U);
    EXPECT_TRUE(reap.check());
}

TEST(Abseil, InlinedVectorsGrowInAReap) {
    reap::Reap reap;
    absl::InlinedVector<int, 4, reap::StlAllocator<int, reap::Reap<>>> numbers{
        reap::StlAllocator<int, reap::Reap<>>(reap)};
    for (int i = 0; i < 1000; ++i) numbers.push_back(i);
    EXPECT_TRUE(reap.owns(numbers.data()));
    EXPECT_EQ(numbers[999], 999);
}

} // namespace
