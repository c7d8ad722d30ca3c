// layer/thread/return_group.h: every order of the steps of two and three threads.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <optional>
#include <vector>

#include "handed.h"
#include "interleave.h"
#include "reap/layer/thread/return_group.h"
#include "reap/layer/thread/return_stack.h"

namespace {

using handed::Object;
using handed::Result;
using handed::thorough;
using interleave::Explorer;
using reap::detail::ReturnGroup;
using reap::detail::ReturnStack;

/// Some threads push objects of the groups that are listed; the owner takes so often meanwhile, and once
/// afterwards.
template <template <class> class Atomic>
Result push_to_groups(const std::vector<std::vector<std::size_t>> &pushers, int takes) {
    using Group = ReturnGroup<Atomic>;
    Explorer explorer(pushers.size() + 1);
    std::optional<ReturnStack<Atomic>> stack;
    std::optional<std::array<Group, 2>> groups;
    std::vector<std::vector<Object>> objects;
    const auto take_group = [&](void *group) {
        if (Group::take(group, handed::take) == 0)
            explorer.report("a group that was in the stack without an object");
    };
    const auto take = [&] {
        void *chain = stack->take_chain();
        while (void *const group = stack->pop(chain)) take_group(group);
    };
    std::vector<std::function<void()>> bodies;
    bodies.reserve(pushers.size() + 1);
    for (std::size_t number = 0; number < pushers.size(); ++number) {
        bodies.emplace_back([&, number] {
            for (Object &object : objects[number]) {
                object.contents.write();
                (*groups)[object.group].push(&object, *stack);
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
            groups.emplace();
            objects.clear();
            for (const auto &of_groups : pushers) {
                objects.emplace_back(of_groups.size());
                for (std::size_t i = 0; i < of_groups.size(); ++i) objects.back()[i].group = of_groups[i];
            }
        },
        bodies,
        [&] {
            take();
            handed::expect_taken_once(explorer, objects);
        });
    return {orders, explorer.found()};
}

TEST(ReturnGroup, TakesEachObjectOnceInEveryOrder) {
    const Result two = push_to_groups<interleave::Atomic>({{0, 0}}, 2);
    EXPECT_EQ(two.found, "");
    EXPECT_GT(two.orders, 400U);
    const Result groups = push_to_groups<interleave::Atomic>({{0, 1}}, 1);
    EXPECT_EQ(groups.found, "");
    const Result three = push_to_groups<interleave::Atomic>({{0}, {0}}, 1);
    EXPECT_EQ(three.found, "");
    EXPECT_GT(three.orders, 2000U);
    if (!thorough) return;
    const Result mixed = push_to_groups<interleave::Atomic>({{0}, {1}}, 1);
    EXPECT_EQ(mixed.found, "");
}

// The test itself, on what is broken.
TEST(ReturnGroup, IsFoundBrokenWhereAtomicsAre) {
    EXPECT_EQ(push_to_groups<interleave::Relaxed>({{0}}, 1).found, "a data race");
    EXPECT_NE(push_to_groups<interleave::Torn>({{0}, {0}}, 1).found, "");
}

} // namespace
