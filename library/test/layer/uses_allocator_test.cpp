// Uses-allocator construction by layers that serve one type: an object gets the allocator of the source.

#include <cstddef>
#include <gtest/gtest.h>
#include <memory>
#include <memory_resource>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "reap/core/source.h"
#include "reap/face/allocator.h"
#include "reap/face/pmr.h"
#include "reap/layer/mempool.h"
#include "reap/layer/per_class.h"
#include "reap/layer/reap.h"
#include "reap/layer/region.h"
#include "reap/source/upstream.h"

namespace {

struct OfMempool {
    template <class T, class Source>
    using Pool = reap::Mempool<T, Source>;
};
struct OfPerClass {
    template <class T, class Source>
    using Pool = reap::PerClass<T, Source>;
};
template <class Of>
class OneType : public testing::Test {};
using OneTypes = testing::Types<OfMempool, OfPerClass>;
TYPED_TEST_SUITE(OneType, OneTypes);

using ReapNumbers = std::vector<int, reap::StlAllocator<int, reap::Reap<>>>;

TYPED_TEST(OneType, GivesItsObjectsTheLayerThatItRefersTo) {
    reap::Reap reap;
    reap::Reap other;
    typename TypeParam::template Pool<ReapNumbers, reap::Ref<reap::Reap<>>> pool{reap};
    const auto is_of = [](const ReapNumbers *numbers, const reap::Reap<> &layer) {
        const auto allocator = numbers->get_allocator();
        return allocator.resource() == nullptr && &allocator.layer() == &layer;
    };
    ReapNumbers *const none = pool.create();
    ReapNumbers *const numbers = pool.create(1000U, 7);
    ReapNumbers *const copy = pool.create(std::as_const(*numbers));
    EXPECT_TRUE(is_of(none, reap) && is_of(numbers, reap) && is_of(copy, reap));
    EXPECT_TRUE(reap.owns(numbers->data()) && reap.owns(copy->data()));
    EXPECT_EQ(*copy, *numbers);
    ReapNumbers elsewhere({1, 2, 3}, other);
    ReapNumbers *const moved = pool.create(std::move(elsewhere));
    EXPECT_TRUE(is_of(moved, reap));
    EXPECT_EQ(moved->size(), 3U);
    ReapNumbers *const chosen = pool.create(10U, 7, other);
    EXPECT_TRUE(is_of(chosen, other)) << "the caller's choice stands";
    for (ReapNumbers *each : {none, numbers, copy, moved, chosen}) pool.destroy(each);
}

TYPED_TEST(OneType, GivesItsObjectsTheLayerThatItOwns) {
    typename TypeParam::template Pool<ReapNumbers, reap::Reap<>> pool;
    ReapNumbers *const numbers = pool.create(1000U, 7);
    EXPECT_EQ(&numbers->get_allocator().layer(), &pool.source());
    EXPECT_TRUE(pool.source().owns(numbers->data()));
    pool.destroy(numbers);
}

/// Nothing comes from the default resource while it lives.
class NoDefaultResourceHere {
  public:
    NoDefaultResourceHere() : before_(std::pmr::set_default_resource(std::pmr::null_memory_resource())) {}
    NoDefaultResourceHere(const NoDefaultResourceHere &) = delete;
    NoDefaultResourceHere &operator=(const NoDefaultResourceHere &) = delete;
    ~NoDefaultResourceHere() { std::pmr::set_default_resource(before_); }

  private:
    std::pmr::memory_resource *before_;
};

struct Message {
    using allocator_type = std::pmr::polymorphic_allocator<>;
    Message(std::string_view text, const allocator_type &allocator) : subject(text, allocator) {}
    std::pmr::string subject;
};
/// Takes its allocator in front.
struct Envelope {
    using allocator_type = std::pmr::polymorphic_allocator<>;
    Envelope(std::allocator_arg_t /*tag*/, const allocator_type &allocator, std::string_view text)
        : message(text, allocator) {
        if (text.empty()) throw std::runtime_error("to nobody");
    }
    Message message;
};

TYPED_TEST(OneType, GivesItsObjectsTheResourceThatItIsOver) {
    const NoDefaultResourceHere none;
    const std::string text(100, 'x');
    reap::PmrResource<reap::Reap<>> requests;
    reap::PmrResource<reap::Reap<>> others;
    typename TypeParam::template Pool<Message, reap::Upstream<>> messages{&requests};
    typename TypeParam::template Pool<Envelope, reap::Upstream<>> envelopes{&requests};
    typename TypeParam::template Pool<std::pmr::string, reap::Upstream<>> texts{&requests};
    Message *const message = messages.create(text);
    EXPECT_EQ(std::string_view(message->subject), text);
    EXPECT_TRUE(requests.layer().owns(message->subject.data()));
    Envelope *const envelope = envelopes.create(text);
    EXPECT_TRUE(requests.layer().owns(envelope->message.subject.data()));
    EXPECT_THROW((void)envelopes.create(""), std::runtime_error);
    std::pmr::string *const copy = texts.create(message->subject);
    EXPECT_TRUE(requests.layer().owns(copy->data()));
    std::pmr::string *const elsewhere = texts.create(text, &others);
    EXPECT_TRUE(others.layer().owns(elsewhere->data())) << "the caller's choice stands";
    messages.destroy(message);
    envelopes.destroy(envelope);
    texts.destroy(copy);
    texts.destroy(elsewhere);
}

TYPED_TEST(OneType, GivesNoAllocatorToWhatTakesNone) {
    reap::Region region;
    typename TypeParam::template Pool<int, reap::Ref<reap::Region<>>> numbers{region};
    int *const number = numbers.create(3);
    EXPECT_EQ(*number, 3);
    numbers.destroy(number);
    // An allocator of another layer's type.
    typename TypeParam::template Pool<ReapNumbers, reap::Ref<reap::Region<>>> foreign{region};
    ReapNumbers *const made = foreign.create(3U, 7);
    EXPECT_NE(made->get_allocator().resource(), nullptr);
    foreign.destroy(made);
}

TEST(MempoolAllocator, IsGivenByTryCreateAndMayThrow) {
    const NoDefaultResourceHere none;
    reap::PmrResource<reap::Reap<>> requests;
    reap::PmrResource<reap::Reap<>> others;
    reap::Mempool<std::pmr::string, reap::Upstream<>> texts{&requests};
    std::pmr::string elsewhere(100, 'x', &others);
    const std::pmr::string *const moved = texts.try_create(std::move(elsewhere));
    ASSERT_NE(moved, nullptr);
    EXPECT_TRUE(requests.layer().owns(moved->data()));
    // A string takes over another's memory without a throw, unless it is told to have other memory.
    static_assert(std::is_nothrow_move_constructible_v<std::pmr::string>);
    static_assert(!noexcept(texts.try_create(std::declval<std::pmr::string>())));
    static_assert(noexcept(std::declval<reap::Mempool<int> &>().try_create(1)));
}

} // namespace
