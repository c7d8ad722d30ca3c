// What a user poisoned in an object, as Abseil's containers do, ends with the object.

#include "reap/core/mode.h"
#if REAP_ASAN

#include <array>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <sanitizer/asan_interface.h>
#include <type_traits>

#include "reap/layer/best_fit.h"
#include "reap/layer/fixed_block.h"
#include "reap/layer/owned_reap.h"
#include "reap/layer/reap.h"
#include "reap/layer/region.h"
#include "reap/source/system_pages.h"

namespace {

constexpr std::size_t poisoned_bytes = 64;

void poison_object(void *object) { __asan_poison_memory_region(object, poisoned_bytes); }
void expect_accessible(void *object) {
    EXPECT_EQ(__asan_region_is_poisoned(object, poisoned_bytes), nullptr);
    std::memset(object, 1, poisoned_bytes);
}

template <class Layer>
class UserPoison : public testing::Test {};
using PoisonedLayers = testing::Types<reap::Reap<>, reap::FixedBlock<>, reap::BestFit<>, reap::OwnedReap<>>;
TYPED_TEST_SUITE(UserPoison, PoisonedLayers);

TYPED_TEST(UserPoison, EndsWithTheObject) {
    auto layer = [] {
        if constexpr (std::is_same_v<TypeParam, reap::FixedBlock<>>)
            return std::make_unique<TypeParam>(poisoned_bytes);
        else
            return std::make_unique<TypeParam>();
    }();
    std::array<void *, 100> objects{};
    for (int turn = 0; turn < 3; ++turn) {
        for (auto &object : objects) {
            object = layer->allocate(poisoned_bytes, 8);
            expect_accessible(object);
            if (!reap::checked) poison_object(object);
        }
        for (void *const object : objects) layer->deallocate(object);
    }
}

TEST(UserPoison, EndsWithAReset) {
    reap::Region region;
    void *const object = region.allocate(poisoned_bytes);
    if (!reap::checked) poison_object(object);
    region.reset();
    expect_accessible(region.allocate(poisoned_bytes));
}

TEST(UserPoison, EndsWithAMapping) {
    void *const data = reap::SystemPages::try_allocate(4096, 8);
    ASSERT_NE(data, nullptr);
    poison_object(data);
    reap::SystemPages::deallocate(data, 4096, 8);
    EXPECT_EQ(__asan_region_is_poisoned(data, poisoned_bytes), nullptr);
}

} // namespace

#endif
