#include <cstddef>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <list>
#include <map>
#include <memory_resource>
#include <new>
#include <random>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "reap/face/allocator.h"
#include "reap/face/pmr.h"
#include "reap/layer/reap.h"

// Containers on reaps: unlike on regions, what they free is free.

namespace {

using Reap8 = reap::Reap<>;
using Reap16 = reap::Reap<reap::CachedSuperblocks, 16>;

/// Has a map and a list grow and shrink at random; they agree at every step.
template <class Map, class List>
void churn(Map &by_number, List &order, unsigned steps) {
    std::mt19937 random(1);
    for (unsigned step = 0; step < steps; ++step) {
        const int number = static_cast<int>(random() % 1000);
        const std::string word = std::to_string(number) + " and more than fits into a string itself";
        if (random() % 2 == 0) {
            if (by_number.try_emplace(number, word.c_str()).second) order.push_back(number);
        } else if (!order.empty()) {
            const auto found = by_number.find(order.front());
            ASSERT_NE(found, by_number.end());
            ASSERT_EQ(std::stoi(std::string(found->second)), order.front());
            by_number.erase(found);
            order.pop_front();
        }
        ASSERT_EQ(by_number.size(), order.size());
    }
}

template <class Reap>
class ReapFaces : public testing::Test {};
using Granules = testing::Types<Reap8, Reap16>;
TYPED_TEST_SUITE(ReapFaces, Granules);

TYPED_TEST(ReapFaces, PmrContainersFreeWhatTheyDoNotNeed) {
    reap::PmrResource<TypeParam> resource(reap::ReapOptions{.limit = std::size_t{256} << 10});
    {
        std::pmr::map<int, std::pmr::string> sorted(&resource);
        std::pmr::unordered_map<int, std::pmr::string> hashed(&resource);
        std::pmr::list<int> order(&resource);
        std::pmr::list<int> other_order(&resource);
        std::pmr::vector<std::pmr::string> words(&resource);
        // Far more than the limit, were it not freed.
        churn(sorted, order, 6000);
        churn(hashed, other_order, 6000);
        for (const auto &[number, word] : sorted) words.push_back(word);
        EXPECT_TRUE(resource.layer().owns(words.front().data()));
        EXPECT_TRUE(resource.layer().check());
    }
    EXPECT_EQ(resource.layer().statistics().live, 0U);
    EXPECT_TRUE(resource.layer().check());
}

TYPED_TEST(ReapFaces, AllocatorsFreeWhatTheirContainersDoNotNeed) {
    using InReap = std::basic_string<char, std::char_traits<char>, reap::StlAllocator<char, TypeParam>>;
    // The maps' strings are the usual ones: std::map does not tell them of its allocator.
    using Entry = std::pair<const int, std::string>;
    using Entries = reap::StlAllocator<Entry, TypeParam>;
    using Ints = reap::StlAllocator<int, TypeParam>;
    TypeParam reap;
    {
        std::map<int, std::string, std::less<>, Entries> sorted{Entries(reap)};
        std::unordered_map<int, std::string, std::hash<int>, std::equal_to<>, Entries> hashed{Entries(reap)};
        std::list<int, Ints> order{Ints(reap)};
        std::list<int, Ints> other_order{Ints(reap)};
        churn(sorted, order, 2000);
        churn(hashed, other_order, 2000);
        std::vector<InReap, reap::StlAllocator<InReap, TypeParam>> words(reap);
        for (int i = 0; i < 1000; ++i) words.emplace_back(std::to_string(i).append(100, '.'), reap);
        EXPECT_TRUE(reap.owns(words.back().data()));
        EXPECT_TRUE(words[500].starts_with("500."));
        EXPECT_TRUE(reap.check());
    }
    EXPECT_EQ(reap.statistics().live, 0U);
    EXPECT_TRUE(reap.check());
}

TYPED_TEST(ReapFaces, AResourceRefersToAReapOrOwnsOne) {
    TypeParam reap;
    reap::PmrResource refers{reap};
    void *const object = refers.allocate(100);
    EXPECT_TRUE(reap.owns(object));
    refers.deallocate(object, 100);
    EXPECT_EQ(reap.statistics().live, 0U);
    reap::PmrResource<TypeParam> owns;
    EXPECT_FALSE(reap.owns(owns.allocate(100)));
}

TYPED_TEST(ReapFaces, AResourceAlignsToSixteenAndToWhatIsAskedFor) {
    reap::PmrResource<TypeParam> resource;
    for (std::size_t alignment = 1; alignment <= std::size_t{2} << 20U; alignment *= 2) {
        void *const object = resource.allocate(24, alignment);
        EXPECT_EQ(reap::padding_at(object, alignment), 0U);
        void *const usual = resource.allocate(24);
        EXPECT_EQ(reap::padding_at(usual, 16), 0U);
        resource.deallocate(object, 24, alignment);
        resource.deallocate(usual, 24);
    }
    EXPECT_EQ(resource.layer().statistics().live, 0U);
}

TYPED_TEST(ReapFaces, AnyOfTheSizesFrees) {
    reap::PmrResource<TypeParam> resource;
    for (std::size_t size = 0; size < 3000; size += 7) {
        const auto got = reap::allocate_at_least(resource, size);
        ASSERT_GE(got.size, size);
        std::memset(got.data, 1, got.size);
        // In checked mode both are what was asked for.
        resource.deallocate(got.data, size % 2 == 0 ? size : got.size);
    }
    EXPECT_EQ(resource.layer().statistics().live, 0U);
    EXPECT_TRUE(resource.layer().check());
}

TYPED_TEST(ReapFaces, WhatAReapRefusesIsThrownThroughContainers) {
    reap::PmrResource<TypeParam> resource(reap::ReapOptions{.limit = 100000});
    std::pmr::vector<char> bytes(&resource);
    EXPECT_THROW(bytes.resize(200000), std::bad_alloc);
    bytes.resize(1000);
    EXPECT_THROW((void)resource.allocate(reap::max_object), std::bad_alloc);
    const volatile std::size_t odd = 24; // the compiler may not know
    EXPECT_THROW((void)resource.allocate(8, odd), std::bad_alloc);
}

TEST(ReapGranules, TellWhatTheyRoundTo) {
    Reap8 by_eight;
    Reap16 by_sixteen;
    EXPECT_EQ((reap::StlAllocator<char, Reap8>(by_eight).allocate_at_least(24).count), 24U);
    EXPECT_EQ((reap::StlAllocator<char, Reap16>(by_sixteen).allocate_at_least(24).count),
              reap::checked ? 24U : 32U);
}

} // namespace
