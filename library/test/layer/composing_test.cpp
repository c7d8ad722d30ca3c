#include <cstddef>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <memory_resource>
#include <new>
#include <type_traits>
#include <vector>

#include "reap/layer/count.h"
#include "reap/layer/fallback.h"
#include "reap/layer/segregate.h"
#include "reap/layer/trace.h"
#include "reap/source/arena.h"
#include "reap/source/buffer.h"
#include "reap/source/limit.h"
#include "reap/source/upstream.h"
#include "source_contract.h"
#include "strict_source.h"

namespace {

using reap::Arena;
using reap::Buffer;
using reap::Count;
using reap::Fallback;
using reap::LastEvents;
using reap::Limit;
using reap::Ref;
using reap::Segregate;
using reap::SystemPages;
using reap::Trace;
using reap::TraceEvent;

constexpr std::size_t largest_alignment = std::size_t{2} << 20;

template <class S>
constexpr bool is_layer = reap::ThrowingSource<S> && !std::is_copy_constructible_v<S> &&
                          !std::is_move_constructible_v<S> && !std::is_copy_assignable_v<S>;
static_assert(is_layer<Segregate<64, SystemPages, SystemPages>>);
static_assert(is_layer<Fallback<Ref<Buffer>, SystemPages>>);
static_assert(is_layer<Count<SystemPages>> && !reap::AtLeastSource<Count<SystemPages>>);
static_assert(is_layer<Trace<SystemPages>> && reap::AtLeastSource<Trace<SystemPages>>);
static_assert(!reap::OwningSource<Fallback<Ref<Buffer>, SystemPages>>);
static_assert(reap::OwningSource<Fallback<Ref<Buffer>, Ref<Buffer>>>);
// Nothing is paid for what has no state.
static_assert(sizeof(Fallback<Ref<Buffer>, SystemPages>) == sizeof(void *));

TEST(Segregate, SendsEachSizeToItsSource) {
    StrictSource small;
    StrictSource large;
    Segregate<64, Ref<StrictSource>, Ref<StrictSource>> both(small, large);
    void *const at_threshold = both.allocate(64, 16);
    EXPECT_EQ(small.bytes(), 64U);
    void *const above = both.allocate(65, 16);
    EXPECT_EQ(large.bytes(), 65U);
    void *const none = both.allocate(0, 16);
    EXPECT_EQ(small.blocks(), 2U);
    EXPECT_TRUE(both.owns(at_threshold) && both.owns(above));
    EXPECT_FALSE(both.owns(&small));
    for (const auto &[data, size] : {std::pair{at_threshold, 64UL}, {above, 65UL}, {none, 0UL}})
        both.deallocate(data, size, 16);
    both.deallocate(nullptr, 5, 16);
    small.fail_after(0);
    EXPECT_EQ(both.try_allocate(64, 16), nullptr);
    EXPECT_THROW((void)both.allocate(64, 16), StrictFailure);
    EXPECT_TRUE(serves(both, 65, 16));
    EXPECT_EQ(&both.small().get(), &small);
    EXPECT_EQ(&both.large().get(), &large);
}

TEST(Segregate, KeepsTheContract) {
    StrictSource small;
    StrictSource large;
    Segregate<1000, Ref<StrictSource>, Ref<StrictSource>> both(small, large);
    expect_boundaries(both, 1U << 16U, largest_alignment);
    expect_at_least(both, 5000);
    expect_separate(both, 1);
    expect_region(both, 200000);
}

TEST(Segregate, HandsOutNothingThatWouldComeBackToTheWrongSource) {
    // The small source rounds up to pages, which is above the threshold.
    StrictSource large;
    Segregate<1000, SystemPages, Ref<StrictSource>> both(SystemPages{}, large);
    EXPECT_EQ(both.try_allocate_at_least(900, 16).size, 1000U);
    expect_at_least(both, 5000);
    EXPECT_EQ(large.blocks(), 0U);
}

TEST(Fallback, AsksTheSecondForWhatTheFirstLacks) {
    alignas(16) std::byte memory[512];
    StrictSource second;
    Buffer buffer(memory);
    Fallback both(buffer, second);
    void *const here = both.allocate(64, 16);
    EXPECT_TRUE(buffer.owns(here));
    void *const there = both.allocate(1000, 16);
    EXPECT_EQ(second.bytes(), 1000U);
    EXPECT_TRUE(both.owns(here) && both.owns(there));
    both.deallocate(there, 1000, 16);
    EXPECT_EQ(second.bytes(), 0U);
    both.deallocate(here, 64, 16);
    EXPECT_EQ(buffer.used(), 0U);
    both.deallocate(nullptr, 1, 1);
    second.fail_after(0);
    EXPECT_THROW((void)both.allocate(1000, 16), StrictFailure);
    EXPECT_EQ(both.try_allocate(1000, 16), nullptr);
    EXPECT_NE(both.try_allocate(64, 16), nullptr);
}

TEST(Fallback, KeepsTheContract) {
    std::vector<std::byte> memory(5000);
    StrictSource second;
    Buffer buffer(memory.data(), memory.size());
    Fallback both(buffer, second);
    expect_boundaries(both, 1U << 16U, largest_alignment);
    buffer.reset();
    expect_at_least(both, 5000);
    buffer.reset();
    expect_separate(both, 2);
    buffer.reset();
    expect_region(both, 200000);
}

TEST(Fallback, AsksMoreThanTwo) {
    alignas(16) std::byte fast[512];
    alignas(16) std::byte slow[2048];
    StrictSource last;
    Buffer first(fast);
    Buffer second(slow);
    Fallback buffers(first, second);
    Fallback all(buffers, last);
    std::vector<void *> objects(40);
    for (auto &object : objects) object = all.allocate(100, 4);
    EXPECT_GT(first.used(), 0U);
    EXPECT_GT(second.used(), 0U);
    EXPECT_GT(last.blocks(), 0U);
    while (!objects.empty()) {
        all.deallocate(objects.back(), 100, 4);
        objects.pop_back();
    }
    EXPECT_EQ(last.blocks(), 0U);
    EXPECT_EQ(buffers.try_allocate(4000, 1), nullptr);
}

TEST(Count, CountsCallsBytesAndPeak) {
    StrictSource source;
    Count count(source);
    void *const first = count.allocate(100, 8);
    void *const second = count.allocate(0, 8);
    count.deallocate(first, 100, 8);
    void *const third = count.try_allocate(50, 8);
    source.fail_after(0, 2);
    EXPECT_EQ(count.try_allocate(1000, 8), nullptr);
    EXPECT_THROW((void)count.allocate(1000, 8), StrictFailure);
    const auto &seen = count.statistics();
    EXPECT_EQ(seen.allocations, 3U);
    EXPECT_EQ(seen.deallocations, 1U);
    EXPECT_EQ(seen.failures, 2U);
    EXPECT_EQ(seen.bytes, 151U);
    EXPECT_EQ(seen.live_blocks, 2U);
    EXPECT_EQ(seen.live_bytes, 51U);
    EXPECT_EQ(seen.peak_bytes, 101U);
    count.deallocate(second, 0, 8);
    count.deallocate(third, 50, 8);
    count.deallocate(nullptr, 8, 8);
    EXPECT_EQ(seen.live_bytes, 0U);
    EXPECT_EQ(seen.deallocations, 3U);
}

TEST(Count, KeepsTheContract) {
    StrictSource source;
    Count count(source);
    expect_boundaries(count, 1U << 16U, largest_alignment);
    expect_separate(count, 3);
    expect_region(count, 200000);
    EXPECT_EQ(count.statistics().live_bytes, 0U);
    EXPECT_EQ(count.statistics().live_blocks, 0U);
    EXPECT_EQ(count.statistics().allocations, count.statistics().deallocations);
}

TEST(Trace, TellsEachCall) {
    StrictSource source;
    std::vector<TraceEvent> told;
    Trace trace(source, [&told](const TraceEvent &event) { told.push_back(event); });
    void *const data = trace.allocate(100, 8);
    trace.deallocate(data, 100, 8);
    trace.deallocate(nullptr, 100, 8);
    source.fail_after(0);
    EXPECT_EQ(trace.try_allocate(5, 16), nullptr);
    EXPECT_THROW((void)trace.allocate(6, 16), StrictFailure);
    ASSERT_EQ(told.size(), 4U);
    EXPECT_EQ(told[0].kind, TraceEvent::Kind::allocate);
    EXPECT_EQ(told[0].data, data);
    EXPECT_EQ(told[0].size, 100U);
    EXPECT_EQ(told[0].alignment, 8U);
    EXPECT_EQ(told[1].kind, TraceEvent::Kind::deallocate);
    EXPECT_EQ(told[1].data, data);
    EXPECT_EQ(told[2].kind, TraceEvent::Kind::failure);
    EXPECT_EQ(told[2].size, 5U);
    EXPECT_EQ(told[3].kind, TraceEvent::Kind::failure);
    EXPECT_EQ(told[3].size, 6U);
}

TEST(Trace, KeepsTheContract) {
    Trace<SystemPages> trace;
    expect_boundaries(trace, 1U << 16U, largest_alignment);
    expect_at_least(trace, 100000);
    expect_separate(trace, 4);
    expect_region(trace, 200000);
    EXPECT_GT(trace.sink().told(), 1000U);
}

TEST(Trace, RemembersTheLastEvents) {
    Trace<SystemPages, LastEvents<4>> trace;
    EXPECT_EQ(trace.sink().size(), 0U);
    void *const data = trace.allocate(1, 8);
    EXPECT_EQ(trace.sink().size(), 1U);
    EXPECT_EQ(trace.sink()[0].data, data);
    trace.deallocate(data, 1, 8);
    for (const std::size_t size : {2UL, 3UL}) EXPECT_TRUE(serves(trace, size, 8));
    EXPECT_EQ(trace.sink().told(), 6U);
    ASSERT_EQ(trace.sink().size(), 4U);
    for (std::size_t number = 0; number < 4; ++number) {
        EXPECT_EQ(trace.sink()[number].size, number < 2 ? 2U : 3U);
        EXPECT_EQ(trace.sink()[number].kind,
                  number % 2 == 0 ? TraceEvent::Kind::allocate : TraceEvent::Kind::deallocate);
    }
}

/// All of it, one on the other, over a source that fails where it is told to.
struct Tower {
    explicit Tower(StrictSource &base) : strict(base) {}
    std::vector<std::byte> memory = std::vector<std::byte>(3000);
    Ref<StrictSource> strict;
    Arena<Ref<StrictSource>> arena{strict, 8192, {.grows = true}};
    Limit<Ref<StrictSource>> limit{strict, 100000};
    Segregate<8192, Ref<Arena<Ref<StrictSource>>>, Ref<Limit<Ref<StrictSource>>>> sizes{arena, limit};
    Buffer buffer{memory.data(), memory.size()};
    Fallback<Ref<Buffer>, Ref<decltype(sizes)>> fallback{buffer, sizes};
    Count<Ref<decltype(fallback)>> count{fallback};
    Trace<Ref<decltype(count)>> trace{count, {}};
};

TEST(Composition, KeepsTheContract) {
    StrictSource strict;
    Tower tower(strict);
    expect_separate(tower.trace, 5);
    tower.buffer.reset();
    tower.arena.reset();
    expect_region(tower.trace, 50000);
    EXPECT_EQ(tower.count.statistics().live_blocks, 0U);
    EXPECT_EQ(tower.limit.quota().used(), 0U);
}

TEST(Composition, StaysUsableAtEveryFailureOfItsSource) {
    // Once, and from then on; every call of the source is the failing one in turn.
    for (const std::size_t failures : {std::size_t{1}, SIZE_MAX}) {
        std::size_t at = 0;
        for (bool failed = true; failed; ++at) {
            StrictSource strict;
            std::unique_ptr<Tower> tower;
            strict.fail_after(at, failures);
            try {
                tower = std::make_unique<Tower>(strict);
            } catch (const StrictFailure &) {
                EXPECT_EQ(at, 0U);
                continue;
            }
            std::vector<std::pair<void *, std::size_t>> had;
            failed = false;
            for (int i = 0; i < 30; ++i) {
                const std::size_t size = static_cast<std::size_t>(i) * 500 % 12000;
                if (void *const data = tower->trace.try_allocate(size, 32); data != nullptr) {
                    std::memset(data, i, size);
                    had.emplace_back(data, size);
                } else {
                    failed = true;
                }
            }
            EXPECT_EQ(tower->count.statistics().live_blocks, had.size());
            strict.fail_never();
            EXPECT_TRUE(serves(tower->trace, 5000, 16));
            EXPECT_TRUE(serves(tower->trace, 20000, 16));
            for (const auto &[data, size] : had) tower->trace.deallocate(data, size, 32);
            EXPECT_EQ(tower->count.statistics().live_bytes, 0U);
            EXPECT_EQ(tower->limit.quota().used(), 0U);
        }
        EXPECT_GT(at, 5U);
    }
}

TEST(Composition, StandsOnAnyResource) {
    std::pmr::monotonic_buffer_resource resource;
    Limit<reap::Upstream<>> limit(&resource, 1000000);
    Count count(limit);
    expect_region(count, 100000);
    EXPECT_EQ(limit.quota().used(), 0U);
}

} // namespace
