// What marked layers tell (REAP_MARK_POOLS=1): each object once, whatever fails. The program is its own
// listener, and does the bookkeeping of an engine.
#include "reap/core/annotate.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "reap/layer/best_fit.h"
#include "reap/layer/fixed_block.h"
#include "reap/layer/mempool.h"
#include "reap/layer/obstack.h"
#include "reap/layer/owned_reap.h"
#include "reap/layer/per_class.h"
#include "reap/layer/per_thread.h"
#include "reap/layer/per_thread_reap.h"
#include "reap/layer/quicklists.h"
#include "reap/layer/reap.h"
#include "reap/layer/region.h"
#include "reap/layer/size_class_allocator.h"
#include "reap/layer/stack_like.h"
#include "reap/mark.h"
#include "reap/source/buffer.h"
#include "reap/source/malloc.h"
#include "reap/testkit/failing_source.h"

namespace {

struct Object {
    const void *pool;
    std::size_t size;
};
std::mutex mutex;
std::map<const char *, Object, std::less<>> live;
std::size_t told = 0;
std::string wrong;

void complain(const char *what) {
    if (wrong.empty()) wrong = what;
}
void ignore() {}
void ignore_phase(const char * /*name*/) {}
void create(const void *pool, const char * /*name*/) {
    const std::scoped_lock lock(mutex);
    for (const auto &[at, object] : live)
        if (object.pool == pool) complain("a pool begins that has objects");
}
void alloc(const void *pool, const void *at, std::size_t size) {
    const std::scoped_lock lock(mutex);
    const auto *const begin = static_cast<const char *>(at);
    const auto next = live.lower_bound(begin);
    if (next != live.end() && next->first < begin + size + (size == 0))
        complain("an object lies over another");
    if (next != live.begin() && std::prev(next)->first + std::prev(next)->second.size > begin)
        complain("an object lies in another");
    live[begin] = {pool, size};
    ++told;
}
void free_object(const void * /*pool*/, const void *at) {
    const std::scoped_lock lock(mutex);
    if (live.erase(static_cast<const char *>(at)) == 0) complain("what is freed is no object");
}
void clear(const void *pool) {
    const std::scoped_lock lock(mutex);
    std::erase_if(live, [pool](const auto &each) { return each.second.pool == pool; });
}
/// An obstack's: here the objects after one are those behind it.
void cut(const void *pool, const void *at) {
    const std::scoped_lock lock(mutex);
    std::erase_if(live, [=](const auto &each) { return each.second.pool == pool && each.first >= at; });
}
void merge(const void *into, const void *from) {
    const std::scoped_lock lock(mutex);
    for (auto &[at, object] : live)
        if (object.pool == from) object.pool = into;
}

} // namespace

extern "C" {
extern __attribute__((visibility("default"))) const reap_mark_listener reap_mark_listener_1;
const reap_mark_listener reap_mark_listener_1 = {ignore,      ignore, ignore_phase, create, alloc,
                                                 free_object, clear,  clear,        cut,    merge};
}

namespace {

class Annotate : public testing::Test {
  protected:
    void SetUp() override {
        live.clear();
        told = 0;
        wrong.clear();
    }
    void TearDown() override {
        EXPECT_EQ(wrong, "");
        EXPECT_TRUE(live.empty()) << live.size() << " objects were told to no end";
    }
};

std::size_t size_at(const void *object) {
    const auto found = live.find(static_cast<const char *>(object));
    return found == live.end() ? 0 : found->second.size;
}

struct Throws {
    explicit Throws(bool really) {
        if (really) throw std::runtime_error("not made");
    }
    long number = 0;
};
struct ThrowsAndEnds : Throws {
    using Throws::Throws;
    ThrowsAndEnds(const ThrowsAndEnds &) = delete;
    ThrowsAndEnds &operator=(const ThrowsAndEnds &) = delete;
    ~ThrowsAndEnds() { number = 1; }
};

template <class T, class Layer>
void expect_nothing_is_left_of_what_throws(Layer &layer) {
    const T *const first = layer.template create<T>(false);
    EXPECT_EQ(size_at(first), sizeof(T));
    EXPECT_THROW((void)layer.template create<T>(true), std::runtime_error);
    EXPECT_THROW((void)layer.template create_array<T>(3, true), std::runtime_error);
    EXPECT_EQ(live.size(), 1U);
    EXPECT_EQ(size_at(layer.template create<T>(false)), sizeof(T));
    EXPECT_EQ(size_at(layer.template create_array<T>(3, false)), 3 * sizeof(T));
    EXPECT_EQ(live.size(), 3U);
    (void)layer.template create_array<T>(0, false);
    EXPECT_EQ(live.size(), 4U) << "at an address of its own";
}

TEST_F(Annotate, AnArrayIsToldOnceWhenItEnds) {
    const auto in = [](auto &layer) {
        auto *const array = layer.template create_array<ThrowsAndEnds>(3, false);
        auto *const numbers = layer.template create_array<int>(3);
        auto *const memory = layer.template allocate<int>(5);
        EXPECT_EQ(size_at(memory), 5 * sizeof(int));
        EXPECT_EQ(live.size(), 3U);
        layer.destroy_array(array, 3);
        layer.destroy_array(numbers, 3);
        layer.template deallocate<int>(memory, 5);
        EXPECT_TRUE(live.empty());
    };
    reap::Reap reap;
    in(reap);
    reap::SizedReap sized;
    in(sized);
}

TEST_F(Annotate, WhatAConstructorDoesNotMakeIsGone) {
    const auto in = []<class Layer>(Layer layer) {
        expect_nothing_is_left_of_what_throws<Throws>(*layer);
        layer->reset();
        EXPECT_TRUE(live.empty());
        expect_nothing_is_left_of_what_throws<ThrowsAndEnds>(*layer);
    };
    in(std::make_unique<reap::Region<>>());
    in(std::make_unique<reap::Reap<>>());
    in(std::make_unique<reap::SizedReap<>>());
    in(std::make_unique<reap::Obstack<>>());
    reap::Mempool<ThrowsAndEnds> pool;
    EXPECT_EQ(size_at(pool.create(false)), sizeof(ThrowsAndEnds));
    EXPECT_THROW((void)pool.create(true), std::runtime_error);
    EXPECT_THROW((void)pool.try_create(true), std::runtime_error);
    EXPECT_EQ(live.size(), 1U);
}

// By a source that has nothing, and then has.
template <class Layer, class Ask>
void expect_that_only_what_is_there_is_told(Ask ask) {
    reap::testkit::FailingSource<> source;
    source.fail_above(0);
    Layer layer{reap::Ref(source)};
    EXPECT_THROW((void)ask(layer, true), std::bad_alloc);
    EXPECT_EQ(ask(layer, false), nullptr);
    EXPECT_EQ(told, 0U);
    source.fail_above(reap::testkit::FailingSource<>::default_largest);
    const void *const one = ask(layer, true);
    EXPECT_EQ(size_at(one), 40U);
    EXPECT_EQ(size_at(ask(layer, false)), 40U);
    EXPECT_EQ(std::exchange(told, 0), 2U);
}

TEST_F(Annotate, WhatFailsIsNotTold) {
    using Source = reap::Ref<reap::testkit::FailingSource<>>;
    using Forty = std::array<char, 40>;
    const auto sized = [](auto &layer, bool throws) {
        return throws ? layer.allocate(40, 8) : layer.try_allocate(40, 8);
    };
    const auto of_one_size = [](auto &layer, bool throws) -> void * {
        return throws ? layer.allocate() : layer.try_allocate();
    };
    expect_that_only_what_is_there_is_told<reap::Region<Source>>(sized);
    expect_that_only_what_is_there_is_told<reap::Obstack<Source>>(sized);
    expect_that_only_what_is_there_is_told<reap::BestFit<Source>>(sized);
    expect_that_only_what_is_there_is_told<reap::Quicklists<reap::BestFit<Source>>>(sized);
    expect_that_only_what_is_there_is_told<reap::SizeClassAllocator<Source>>(sized);
    expect_that_only_what_is_there_is_told<reap::PerThread<reap::SizeClassAllocator<Source>>>(sized);
    expect_that_only_what_is_there_is_told<reap::PerClass<Forty, Source>>(of_one_size);
    expect_that_only_what_is_there_is_told<reap::Mempool<Forty, Source>>(of_one_size);
}

TEST_F(Annotate, WhatCannotGrowIsAsItWas) {
    reap::testkit::FailingSource<> source;
    const auto large = std::size_t{1} << 24;
    const auto in = [&](auto &layer) {
        void *const object = layer.allocate(100);
        source.fail_above(0);
        EXPECT_EQ(layer.try_reallocate(object, large), nullptr);
        EXPECT_EQ(layer.try_reallocate(object, 60, 3), nullptr);
        EXPECT_EQ(size_at(object), 100U);
        source.fail_above(large * 2);
        void *const moved = layer.reallocate(object, large);
        EXPECT_EQ(size_at(object), 0U);
        EXPECT_EQ(size_at(moved), large);
        void *const back = layer.reallocate(moved, 50);
        EXPECT_EQ(size_at(back), 50U);
        EXPECT_EQ(layer.reallocate(back, 40), back);
        EXPECT_EQ(size_at(back), 40U);
        EXPECT_EQ(live.size(), 1U);
        layer.deallocate(back, 40);
    };
    reap::Reap reap(source);
    in(reap);
    reap::OwnedReap owned(source);
    in(owned);
}

TEST_F(Annotate, OfAtLeastAllThatMayBeUsedIsTold) {
    const auto in = [](auto &layer) {
        const reap::Allocation got = layer.try_allocate_at_least(41, 8);
        EXPECT_EQ(size_at(got.data), got.size);
        EXPECT_EQ(std::exchange(told, 0), 1U);
    };
    reap::Region region;
    in(region);
    reap::Reap reap;
    in(reap);
    reap::SizedReap sized;
    in(sized);
    reap::OwnedReap owned;
    in(owned);
    reap::SizeClassAllocator classes;
    in(classes);
    reap::PerThread<reap::SizeClassAllocator<>> threads;
    in(threads);
    reap::FixedBlock blocks(64);
    in(blocks);
}

TEST_F(Annotate, WhatIsSplicedGoesWithTheOther) {
    reap::Region region;
    {
        reap::Region other;
        (void)region.allocate(8);
        const reap::Region<>::Mark mark = region.mark();
        (void)other.allocate(16);
        (void)other.mark();
        (void)other.create<ThrowsAndEnds>(false);
        (void)other.allocate(300'000);
        region.splice(other);
        EXPECT_EQ(live.size(), 4U);
        other.reset();
        (void)other.allocate(24);
        EXPECT_EQ(live.size(), 5U);
        EXPECT_TRUE(region.rewind(mark));
        EXPECT_EQ(live.size(), 2U);
    }
    EXPECT_EQ(live.size(), 1U);
}

TEST_F(Annotate, ANestedRegionEndsWithItsOuter) {
    const auto in = [](auto &outer) {
        const auto mark = outer.mark();
        auto &inner = outer.nest();
        EXPECT_EQ(size_at(&inner), sizeof(inner));
        (void)inner.allocate(100);
        EXPECT_EQ(live.size(), 2U);
        EXPECT_TRUE(outer.rewind(mark));
        EXPECT_TRUE(live.empty());
        (void)outer.nest().allocate(100);
        outer.reset();
        EXPECT_TRUE(live.empty());
    };
    reap::Region region;
    in(region);
    reap::Reap reap;
    in(reap);
}

TEST_F(Annotate, AFreeIsToldOnceHoweverItIsCalled) {
    constexpr std::size_t sizes[] = {0, 1, 100, 20'000, 3'000'000};
    const auto in = [&](auto &layer) {
        for (const std::size_t size : sizes) {
            void *const object = layer.allocate(size, 64);
            layer.deallocate(object, size, 64);
            EXPECT_TRUE(live.empty());
        }
        layer.deallocate(nullptr, 0, 8);
    };
    reap::Reap reap;
    in(reap);
    reap::SizedReap sized;
    in(sized);
    reap::OwnedReap owned;
    in(owned);
    reap::PerThreadReap<> threads;
    in(threads);
    reap::BestFit fit;
    in(fit);
    reap::Quicklists<reap::BestFit<>> lists;
    in(lists);
    reap::StackLike stack;
    in(stack);
    EXPECT_EQ(told, 7 * std::size(sizes));
}

TEST_F(Annotate, AnotherThreadsFreeIsToldWhenItIsCalled) {
    const auto in = [](auto &layer) {
        void *const object = layer.allocate(40, 8);
        std::thread([&] { layer.deallocate(object, 40, 8); }).join();
        EXPECT_TRUE(live.empty());
        for (int i = 0; i < 100'000; ++i) (void)layer.allocate(40, 8); // takes it back meanwhile
        layer.reset();
        EXPECT_TRUE(live.empty());
    };
    reap::PerThreadReap<> reaps;
    in(reaps);
    reap::PerThread<reap::SizeClassAllocator<>> classes;
    in(classes);
}

TEST_F(Annotate, WhatIsAbandonedLivesOn) {
    reap::OwnedReap<>::Handle reap = reap::OwnedReap<>::make();
    void *const object = reap->allocate(40);
    (void)reap->allocate(0); // never freed, and so is the reap not ended
    void *const last = reap->allocate(50);
    reap::OwnedReap<>::abandon(std::move(reap));
    EXPECT_EQ(live.size(), 3U);
    std::thread([=] { reap::OwnedReap<>::deallocate(object); }).join();
    EXPECT_EQ(size_at(object), 0U);
    EXPECT_EQ(size_at(last), 50U);
    reap::OwnedReap<>::deallocate(last);
    EXPECT_EQ(live.size(), 1U);
    live.clear();
}

TEST_F(Annotate, WhatIsInAnObstackIsCut) {
    reap::Obstack stack;
    void *const first = stack.allocate(8);
    void *const second = stack.create<ThrowsAndEnds>(false);
    stack.push(1);
    stack.drop();
    EXPECT_EQ(told, 2U);
    stack.push(1);
    EXPECT_EQ(size_at(stack.finish()), sizeof(int));
    EXPECT_EQ(size_at(stack.finish()), 0U);
    EXPECT_EQ(live.size(), 4U);
    EXPECT_TRUE(stack.free_from(second));
    EXPECT_EQ(live.size(), 1U);
    EXPECT_TRUE(stack.free_from(first));
    EXPECT_TRUE(live.empty());
}

TEST_F(Annotate, ABufferTakesBackTheLastOne) {
    char memory[64];
    reap::Buffer buffer(memory);
    void *const first = buffer.allocate(16);
    void *const last = buffer.allocate(16);
    EXPECT_THROW((void)buffer.allocate(100), std::bad_alloc);
    buffer.deallocate(first, 16);
    EXPECT_EQ(live.size(), 2U);
    buffer.deallocate(last, 16);
    EXPECT_EQ(live.size(), 1U);
}

} // namespace
