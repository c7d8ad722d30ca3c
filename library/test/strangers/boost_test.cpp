#include <boost/container/deque.hpp>
#include <boost/container/flat_map.hpp>
#include <boost/container/small_vector.hpp>
#include <boost/container/stable_vector.hpp>

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <utility>

#include "reap/face/allocator.h"
#include "reap/layer/reap.h"

namespace {

template <class T>
using InReap = reap::StlAllocator<T, reap::Reap<>>;
namespace container = boost::container;

TEST(BoostContainer, MapsAndSequencesAreInAReap) {
    reap::Reap reap;
    {
        container::flat_map<int, std::string, std::less<>, InReap<std::pair<int, std::string>>> sorted{
            InReap<std::pair<int, std::string>>(reap)};
        container::deque<int, InReap<int>> queue{InReap<int>(reap)};
        container::stable_vector<std::string, InReap<std::string>> stable{InReap<std::string>(reap)};
        using Small = container::small_vector<int, 4, InReap<int>>;
        Small small{Small::allocator_type(InReap<int>(reap))};
        std::map<int, std::string> theirs;
        for (int i = 0; i < 10'000; ++i) {
            const int key = i * 7919 % 2003;
            if (i % 3 == 0) {
                EXPECT_EQ(sorted.erase(key), theirs.erase(key));
            } else {
                sorted[key] = theirs[key] = std::to_string(i);
            }
            queue.push_back(i);
            if (i % 2 == 0) queue.pop_front();
            stable.push_back(std::to_string(i));
            small.push_back(i);
        }
        EXPECT_TRUE(std::equal(
            sorted.begin(), sorted.end(), theirs.begin(), theirs.end(),
            [](const auto &a, const auto &b) { return a.first == b.first && a.second == b.second; }));
        EXPECT_EQ(queue.front(), 5000);
        EXPECT_EQ(stable[9999], "9999");
        EXPECT_EQ(small[9999], 9999);
        EXPECT_TRUE(reap.owns(small.data()));
    }
    EXPECT_EQ(reap.statistics().live, 0U);
    EXPECT_TRUE(reap.check());
}

} // namespace
