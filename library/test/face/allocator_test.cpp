#include "reap/face/allocator.h"

#include <cstddef>
#include <gtest/gtest.h>
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <new>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "reap/face/pmr.h"
#include "reap/layer/region.h"

namespace {

using reap::Region;
using reap::StlAllocator;
using String = std::basic_string<char, std::char_traits<char>, StlAllocator<char>>;
template <class T>
using Vector = std::vector<T, StlAllocator<T>>;

TEST(StlAllocator, ServesContainers) {
    Region region;
    using Entry = std::pair<const int, String>;
    std::map<int, String, std::less<>, StlAllocator<Entry>> by_number(region);
    std::unordered_map<int, String, std::hash<int>, std::equal_to<>, StlAllocator<Entry>> hashed{
        StlAllocator<Entry>(region)};
    std::list<int, StlAllocator<int>> numbers(region);
    Vector<String> words(region);
    for (int i = 0; i < 1000; ++i) {
        words.emplace_back(std::to_string(i).append(100, '.'), region);
        by_number.emplace(i, words.back());
        hashed.emplace(i, words.back());
        numbers.push_front(i);
        EXPECT_TRUE(region.owns(words.back().data()));
    }
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(by_number.at(i), hashed.at(i));
    EXPECT_EQ(numbers.size(), 1000U);
}

TEST(StlAllocator, RefersToTheDefaultResourceWithoutALayer) {
    using Allocator = StlAllocator<int>;
    EXPECT_EQ(Allocator().resource(), std::pmr::get_default_resource());
    reap::PmrResource<> resource;
    std::pmr::memory_resource *const before = std::pmr::set_default_resource(&resource);
    Vector<int> mine;
    std::pmr::set_default_resource(before);
    for (int i = 0; i < 1000; ++i) mine.push_back(i);
    EXPECT_TRUE(resource.layer().owns(mine.data()));
    EXPECT_EQ(mine.get_allocator().resource(), &resource) << "of the moment when it was made";
    EXPECT_NE(mine.get_allocator(), Allocator());
    EXPECT_EQ(Allocator(), Allocator());
    const StlAllocator<String> strings = mine.get_allocator();
    EXPECT_EQ(strings, mine.get_allocator());

    Region region;
    EXPECT_EQ(Allocator(region).resource(), nullptr);
    EXPECT_NE(Allocator(region), Allocator());
    Vector<int> other(region);
    other = mine; // as with pmr, it keeps its own
    EXPECT_TRUE(region.owns(other.data()));
    EXPECT_EQ(other, mine);
}

TEST(StlAllocator, AlignsElements) {
    struct alignas(64) Line {
        char bytes[64];
    };
    Region region;
    Vector<Line> lines(region);
    std::list<Line, StlAllocator<Line>> nodes(region);
    for (int i = 0; i < 100; ++i) {
        (void)region.allocate(1);
        lines.emplace_back();
        nodes.emplace_back();
        EXPECT_EQ(reap::padding_at(lines.data(), 64), 0U);
        EXPECT_EQ(reap::padding_at(&nodes.back(), 64), 0U);
    }
}

TEST(StlAllocator, RefusesMoreElementsThanAnyArrayHas) {
    Region region;
    StlAllocator<long> allocator(region);
    EXPECT_THROW((void)allocator.allocate(SIZE_MAX), std::bad_array_new_length);
    EXPECT_THROW((void)allocator.allocate(SIZE_MAX / sizeof(long) + 2), std::bad_array_new_length);
    EXPECT_THROW((void)allocator.allocate_at_least(SIZE_MAX / 8 + 2), std::bad_array_new_length);
    EXPECT_THROW((void)allocator.allocate(reap::max_object / sizeof(long)), std::bad_alloc);
    allocator.deallocate(allocator.allocate(0), 0);
}

TEST(StlAllocator, TellsHowManyElementsThereIsRoomFor) {
    Region region;
    StlAllocator<int> allocator(region);
    const auto got = allocator.allocate_at_least(5);
    EXPECT_EQ(got.count, reap::checked ? 5U : 8U);
    allocator.deallocate(got.ptr, reap::checked ? 5 : 7);
    EXPECT_EQ(allocator.allocate(5), got.ptr);
}

TEST(StlAllocator, IsEqualWhereTheLayerIsTheSame) {
    Region region;
    Region other;
    const StlAllocator<int> ints(region);
    const StlAllocator<String> strings(ints);
    EXPECT_TRUE(ints == strings);
    EXPECT_EQ(&strings.layer(), &region);
    EXPECT_FALSE(ints == StlAllocator<int>(other));
    EXPECT_EQ(sizeof ints, sizeof(void *));
}

TEST(StlAllocator, StaysWithItsContainer) {
    using Traits = std::allocator_traits<StlAllocator<int>>;
    static_assert(!Traits::propagate_on_container_copy_assignment::value);
    static_assert(!Traits::propagate_on_container_move_assignment::value);
    static_assert(!Traits::propagate_on_container_swap::value);
    static_assert(!Traits::is_always_equal::value);

    Region region;
    Region other;
    Vector<int> one({1, 2, 3}, region);
    Vector<int> two(other);
    two = one;
    EXPECT_TRUE(other.owns(two.data()));
    two = std::move(one);
    EXPECT_TRUE(other.owns(two.data()));
    EXPECT_EQ(two.size(), 3U);
    const Vector<int> copy(two);
    EXPECT_TRUE(other.owns(copy.data()));
    const Vector<int> moved(std::move(two));
    EXPECT_TRUE(other.owns(moved.data()));
}

TEST(StlAllocator, StandsOnAnySource) {
    reap::SystemPages pages;
    std::vector<int, StlAllocator<int, reap::SystemPages>> numbers(pages);
    numbers.assign(10000, 7);
    EXPECT_EQ(numbers.back(), 7);
}

} // namespace
