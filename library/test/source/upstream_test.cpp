#include "reap/source/upstream.h"

#include <cstddef>
#include <gtest/gtest.h>
#include <memory_resource>
#include <new>

#include "reap/layer/region.h"
#include "source_contract.h"
#include "strict_source.h"

void *allocate_without_exceptions(std::pmr::memory_resource *resource, std::size_t size);
void deallocate_without_exceptions(std::pmr::memory_resource *resource, void *data, std::size_t size);

namespace {

using reap::Upstream;
static_assert(reap::ThrowingSource<Upstream<>> && reap::with_exceptions);

/// A resource over a StrictSource.
class StrictResource : public std::pmr::memory_resource {
  public:
    StrictSource source;

  private:
    void *do_allocate(std::size_t size, std::size_t alignment) override {
        EXPECT_GT(size, 0U);
        EXPECT_TRUE(reap::is_alignment(alignment));
        return source.allocate(size, alignment);
    }
    void do_deallocate(void *data, std::size_t size, std::size_t alignment) override {
        source.deallocate(data, size, alignment);
    }
    [[nodiscard]] bool do_is_equal(const memory_resource &other) const noexcept override {
        return this == &other;
    }
};

TEST(Upstream, LetsTheResourcesOwnExceptionThrough) {
    StrictResource resource;
    Upstream<> upstream(&resource);
    resource.source.fail_after(0, 2);
    EXPECT_THROW((void)upstream.allocate(8, 8), StrictFailure);
    EXPECT_EQ(upstream.try_allocate(8, 8), nullptr);
    EXPECT_TRUE(serves(upstream, 8, 8));

    reap::Region region(upstream);
    resource.source.fail_after(0, 3);
    EXPECT_THROW((void)region.allocate(8), StrictFailure);
    EXPECT_EQ(region.try_allocate(1 << 20), nullptr);
    EXPECT_NE(region.allocate(8), nullptr);
}

TEST(Upstream, RefusesWhatCannotBeWithoutAsking) {
    StrictResource resource;
    Upstream<> upstream(&resource);
    EXPECT_THROW((void)upstream.allocate(8, 0), std::bad_alloc);
    EXPECT_THROW((void)upstream.allocate(8, 3), std::bad_alloc);
    EXPECT_THROW((void)upstream.allocate(SIZE_MAX, 16), std::bad_alloc);
    EXPECT_EQ(resource.source.calls(), 0U);
    expect_boundaries(upstream, 1U << 16U, std::size_t{2} << 20);
    expect_separate(upstream, 5);
    expect_region(upstream, 200000);
}

TEST(Upstream, IsTheDefaultResourceByDefault) {
    const Upstream<> upstream;
    EXPECT_EQ(upstream.resource(), std::pmr::get_default_resource());
    EXPECT_EQ(upstream, Upstream<>(std::pmr::new_delete_resource()));
    EXPECT_FALSE(upstream == Upstream<>(std::pmr::null_memory_resource()));
}

TEST(Upstream, ServesPartsWithAndWithoutExceptionsInOneProgram) {
    StrictResource resource;
    void *const data = allocate_without_exceptions(&resource, 100);
    ASSERT_NE(data, nullptr);
    deallocate_without_exceptions(&resource, data, 100);
    resource.source.fail_after(0, 1);
    Upstream<> upstream(&resource);
    EXPECT_EQ(upstream.try_allocate(8, 8), nullptr);
    EXPECT_EQ(allocate_without_exceptions(&resource, SIZE_MAX), nullptr);
}

} // namespace
