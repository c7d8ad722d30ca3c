#include "reap/face/pmr.h"

#include <cstddef>
#include <cstring>
#include <gtest/gtest.h>
#include <list>
#include <map>
#include <memory_resource>
#include <new>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "reap/layer/region.h"

namespace {

using reap::PmrResource;
using reap::Region;

/// A source that has an exception of its own, and counts what is out.
struct Counting {
    struct Exhausted : std::bad_alloc {};

    std::size_t out = 0;
    std::size_t limit = SIZE_MAX;

    void *try_allocate(std::size_t size, std::size_t alignment) noexcept {
        if (size > limit - out) return nullptr;
        void *const data = reap::SystemPages::try_allocate(size, alignment);
        if (data != nullptr) out += size;
        return data;
    }
    void *allocate(std::size_t size, std::size_t alignment) {
        void *const data = try_allocate(size, alignment);
        if (data == nullptr) throw Exhausted();
        return data;
    }
    void deallocate(void *data, std::size_t size, std::size_t alignment) noexcept {
        out -= size;
        reap::SystemPages::deallocate(data, size, alignment);
    }
};

/// Passes everything on, with the question of who it is.
class Wrapper : public std::pmr::memory_resource {
  public:
    explicit Wrapper(std::pmr::memory_resource &inner) : inner_(inner) {}
    std::size_t allocations = 0;

  private:
    void *do_allocate(std::size_t size, std::size_t alignment) override {
        ++allocations;
        return inner_.allocate(size, alignment);
    }
    void do_deallocate(void *data, std::size_t size, std::size_t alignment) override {
        inner_.deallocate(data, size, alignment);
    }
    [[nodiscard]] bool do_is_equal(const memory_resource &other) const noexcept override {
        return inner_.is_equal(other);
    }

    std::pmr::memory_resource &inner_;
};

TEST(PmrResource, ServesContainers) {
    PmrResource<> resource;
    {
        std::pmr::vector<std::pmr::string> words(&resource);
        std::pmr::map<int, std::pmr::string> by_number(&resource);
        std::pmr::unordered_map<std::pmr::string, int> by_word(&resource);
        std::pmr::list<int> numbers(&resource);
        for (int i = 0; i < 1000; ++i) {
            words.emplace_back(std::to_string(i) + " and more than fits into a string itself");
            by_number.emplace(i, words.back());
            by_word.emplace(words.back(), i);
            numbers.push_back(i);
            EXPECT_TRUE(resource.layer().owns(words.back().data()));
        }
        for (int i = 0; i < 1000; ++i) EXPECT_EQ(by_word.at(by_number.at(i)), i);
    }
    resource.layer().reset(reap::keep_none);
    EXPECT_EQ(resource.layer().statistics().held, 0U);
}

TEST(PmrResource, IsNeitherCopiedNorMoved) {
    static_assert(!std::is_copy_constructible_v<PmrResource<>> &&
                  !std::is_move_constructible_v<PmrResource<>>);
    static_assert(!std::is_copy_assignable_v<PmrResource<>> && !std::is_move_assignable_v<PmrResource<>>);
}

TEST(PmrResource, IsEqualToItselfAlone) {
    Region region;
    const PmrResource one{region};
    const PmrResource other{region};
    EXPECT_TRUE(one == one);
    EXPECT_FALSE(one == other);
    EXPECT_FALSE(one == *std::pmr::null_memory_resource());
}

TEST(PmrResource, RefersToALayerOrOwnsOne) {
    Region region;
    PmrResource refers{region};
    static_assert(std::is_same_v<decltype(refers), PmrResource<reap::Ref<Region<>>>>);
    EXPECT_TRUE(region.owns(refers.allocate(100)));

    PmrResource<> owns(reap::RegionOptions{.limit = 1U << 16U});
    EXPECT_EQ(owns.layer().options().limit, 1U << 16U);
    EXPECT_FALSE(region.owns(owns.allocate(100)));
}

TEST(PmrResource, AlignsToSixteenAndToWhatIsAskedFor) {
    PmrResource<> resource;
    (void)resource.allocate(1, 1);
    EXPECT_EQ(reap::padding_at(resource.allocate(1), 16), 0U);
    for (std::size_t alignment = 1; alignment <= 1U << 20U; alignment *= 2)
        EXPECT_EQ(reap::padding_at(resource.allocate(3, alignment), alignment), 0U);
}

TEST(PmrResource, GivesAPointerForNothing) {
    PmrResource<> resource;
    void *const one = resource.allocate(0);
    void *const other = resource.allocate(0);
    EXPECT_NE(one, nullptr);
    EXPECT_NE(one, other);
    resource.deallocate(other, 0);
    resource.deallocate(one, 0);
    PmrResource<reap::SystemPages> pages;
    pages.deallocate(pages.allocate(0), 0);
}

TEST(PmrResource, LetsTheExceptionOfTheSourceThrough) {
    Counting source{.limit = 100000};
    {
        PmrResource<Region<reap::Ref<Counting>>> resource(source);
        std::pmr::vector<char> bytes(&resource);
        EXPECT_THROW(bytes.resize(200000), Counting::Exhausted);
        bytes.resize(1000);
        EXPECT_THROW((void)resource.allocate(reap::max_object), std::bad_alloc);
        const volatile std::size_t odd = 24; // the compiler may not know
        EXPECT_THROW((void)resource.allocate(8, odd), std::bad_alloc);
    }
    EXPECT_EQ(source.out, 0U);
}

TEST(PmrResource, PassesFreesOn) {
    PmrResource<> resource;
    void *const object = resource.allocate(100, 64);
    resource.deallocate(object, 100, 64);
    EXPECT_EQ(resource.allocate(100, 64), object);
}

TEST(AllocateAtLeast, TellsWhatTheLayerRoundsTo) {
    PmrResource<> resource;
    auto &unknown = static_cast<std::pmr::memory_resource &>(resource);
    const auto got = reap::allocate_at_least(unknown, 33);
    EXPECT_EQ(got.size, reap::checked ? 33U : 48U);
    std::memset(got.data, 1, got.size);
    unknown.deallocate(got.data, reap::checked ? 33 : 40);
    EXPECT_EQ(unknown.allocate(33), got.data);

    const auto aligned = reap::allocate_at_least(unknown, 33, 64);
    EXPECT_EQ(reap::padding_at(aligned.data, 64), 0U);
    EXPECT_EQ(reap::allocate_at_least(unknown, 0).size, reap::checked ? 0U : 16U);
    EXPECT_THROW((void)reap::allocate_at_least(unknown, SIZE_MAX), std::bad_alloc);
    EXPECT_THROW((void)reap::allocate_at_least(unknown, reap::max_object), std::bad_alloc);
}

TEST(AllocateAtLeast, GivesExactlyThatFromAnyOtherResource) {
    for (auto *resource : {std::pmr::new_delete_resource(), std::pmr::get_default_resource()}) {
        const auto got = reap::allocate_at_least(*resource, 33);
        EXPECT_EQ(got.size, 33U);
        resource->deallocate(got.data, got.size);
    }
    EXPECT_THROW((void)reap::allocate_at_least(*std::pmr::null_memory_resource(), 33), std::bad_alloc);
}

TEST(AllocateAtLeast, DoesNotPassByAWrapper) {
    PmrResource<> inner;
    Wrapper wrapper(inner);
    EXPECT_EQ(reap::allocate_at_least(wrapper, 33).size, 33U);
    EXPECT_EQ(wrapper.allocations, 1U);
}

} // namespace
