// layer/thread/return_stack.h: every order of the steps of two and three threads.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <optional>
#include <vector>

#include "handed.h"
#include "interleave.h"
#include "reap/layer/thread/return_stack.h"

namespace {

using handed::Object;
using handed::object_at;
using handed::Result;
using handed::thorough;
using interleave::Explorer;
using interleave::Plain;
using reap::detail::ReturnStack;

/// Some threads push, each so many; the owner takes so often meanwhile, and once afterwards.
template <template <class> class Atomic>
Result push_and_take(const std::vector<std::size_t> &pushers, int takes) {
    const std::size_t threads = pushers.size() + 1;
    Explorer explorer(threads);
    std::optional<ReturnStack<Atomic>> stack;
    std::vector<std::vector<Object>> objects;
    const auto take = [&] { stack->take_all(handed::take); };
    std::vector<std::function<void()>> bodies;
    bodies.reserve(threads);
    for (std::size_t number = 0; number < pushers.size(); ++number) {
        bodies.emplace_back([&, number] {
            for (Object &object : objects[number]) {
                object.contents.write();
                if (!stack->push(&object)) explorer.report("a push that was refused");
            }
        });
    }
    bodies.emplace_back([&] {
        for (int i = 0; i < takes; ++i) take();
    });
    const std::size_t orders = explorer.run(
        [&] {
            stack.emplace();
            stack->cover(nullptr, SIZE_MAX);
            objects.clear();
            for (const std::size_t count : pushers) objects.emplace_back(count);
        },
        bodies,
        [&] {
            take();
            handed::expect_taken_once(explorer, objects);
        });
    return {orders, explorer.found()};
}

TEST(ReturnStack, TakesEachObjectOnceInEveryOrder) {
    const Result two = push_and_take<interleave::Atomic>({2}, 2);
    EXPECT_EQ(two.found, "");
    EXPECT_GT(two.orders, 400U);
    const Result three = push_and_take<interleave::Atomic>({1, 1}, 2);
    EXPECT_EQ(three.found, "");
    EXPECT_GT(three.orders, 20000U);
    if (!thorough) return;
    const Result more = push_and_take<interleave::Atomic>({2, 1}, 1);
    EXPECT_EQ(more.found, "");
    EXPECT_GT(more.orders, 50000U);
}

/// The owner leaves; others free what it left. Who ends it, and when.
template <template <class> class Atomic>
Result abandon(const std::vector<std::size_t> &freers, std::size_t freed_by_owner) {
    struct Owned {
        ReturnStack<Atomic> stack;
        Plain state;
        std::size_t live = 0;
    };
    const std::size_t threads = freers.size() + 1;
    Explorer explorer(threads);
    std::optional<Owned> owned;
    std::vector<std::vector<Object>> objects;
    int ends = 0;
    std::size_t to_free = 0;
    const auto end = [&] {
        owned->state.write();
        ++ends;
        if (to_free != 0) explorer.report("an end before the last free");
        explorer.end_of(&*owned, sizeof *owned);
    };
    std::vector<std::function<void()>> bodies;
    bodies.reserve(threads);
    for (std::size_t number = 0; number < freers.size(); ++number) {
        bodies.emplace_back([&, number] {
            for (Object &object : objects[number]) {
                object.contents.write();
                owned->state.read(); // how large it is
                --to_free;
                if (owned->stack.push(&object)) continue;
                if (owned->stack.count(object.size)) end();
            }
        });
    }
    bodies.emplace_back([&] {
        owned->live -= freed_by_owner;
        owned->stack.close([&](void *memory) {
            object_at(memory).contents.write();
            owned->live -= object_at(memory).size;
        });
        if (owned->stack.leave(owned->live)) end();
    });
    const std::size_t orders = explorer.run(
        [&] {
            owned.emplace();
            owned->stack.cover(nullptr, SIZE_MAX);
            objects.clear();
            ends = 0;
            to_free = 0;
            owned->live = freed_by_owner;
            for (const std::size_t count : freers) {
                objects.emplace_back(count);
                for (Object &object : objects.back()) {
                    object.size = 16 * ++to_free;
                    owned->live += object.size;
                }
            }
        },
        bodies,
        [&] {
            if (ends != 1) explorer.report("not one end");
        });
    return {orders, explorer.found()};
}

TEST(ReturnStack, EndsOnceAndAtLastInEveryOrder) {
    const Result none = abandon<interleave::Atomic>({}, 32);
    EXPECT_EQ(none.found, "");
    const Result two = abandon<interleave::Atomic>({2}, 16);
    EXPECT_EQ(two.found, "");
    EXPECT_GT(two.orders, 100U);
    const Result three = abandon<interleave::Atomic>({1, 1}, 0);
    EXPECT_EQ(three.found, "");
    EXPECT_GT(three.orders, 10000U);
    if (!thorough) return;
    const Result more = abandon<interleave::Atomic>({2, 1}, 0);
    EXPECT_EQ(more.found, "");
    EXPECT_GT(more.orders, 50000U);
}

// The checker itself, on what is broken.
TEST(Interleave, FindsWhatIsBroken) {
    EXPECT_EQ(push_and_take<interleave::Relaxed>({1}, 1).found, "a data race");
    EXPECT_NE(push_and_take<interleave::Torn>({1, 1}, 1).found, "");
    EXPECT_NE(abandon<interleave::Torn>({1, 1}, 0).found, "");
    EXPECT_EQ(abandon<interleave::Relaxed>({1}, 0).found, "a data race");
}

} // namespace
