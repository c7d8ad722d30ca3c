// layer/thread/return_group.h: every order of the steps of two and three threads.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <vector>

#include "interleave.h"
#include "reap/layer/thread/return_group.h"
#include "reap/layer/thread/return_stack.h"

namespace {

using interleave::Explorer;
using interleave::Plain;
using reap::detail::ReturnGroup;
using reap::detail::ReturnStack;

// The code is the same in all builds: the longest runs are made in one.
constexpr bool thorough = !reap::checked;

struct Object {
    alignas(void *) std::array<std::byte, 16> memory{}; // first: the group's link comes here
    std::size_t group = 0;
    int taken = 0;
    Plain contents;
};

struct Result {
    std::size_t orders;
    std::string found;
};

/// Some threads push objects of the groups that are listed; the owner takes so often meanwhile, and once
/// afterwards.
template <template <class> class Atomic>
Result push_and_take(const std::vector<std::vector<std::size_t>> &pushers, int takes) {
    using Group = ReturnGroup<Atomic>;
    Explorer explorer(pushers.size() + 1);
    std::optional<ReturnStack<Atomic>> stack;
    std::optional<std::array<Group, 2>> groups;
    std::vector<std::vector<Object>> objects;
    const auto take_group = [&](void *group) {
        const std::size_t taken = Group::take(group, [](void *memory) {
            auto &object = *static_cast<Object *>(memory);
            object.contents.write();
            ++object.taken;
        });
        if (taken == 0) explorer.report("a group that was in the stack without an object");
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
            for (const auto &mine : objects)
                for (const Object &object : mine)
                    if (object.taken != 1) explorer.report("an object that was not taken once");
        });
    return {orders, explorer.found()};
}

TEST(ReturnGroup, TakesEachObjectOnceInEveryOrder) {
    const Result two = push_and_take<interleave::Atomic>({{0, 0}}, 2);
    EXPECT_EQ(two.found, "");
    EXPECT_GT(two.orders, 400U);
    const Result groups = push_and_take<interleave::Atomic>({{0, 1}}, 1);
    EXPECT_EQ(groups.found, "");
    const Result three = push_and_take<interleave::Atomic>({{0}, {0}}, 1);
    EXPECT_EQ(three.found, "");
    EXPECT_GT(three.orders, 2000U);
    if (!thorough) return;
    const Result mixed = push_and_take<interleave::Atomic>({{0}, {1}}, 1);
    EXPECT_EQ(mixed.found, "");
}

// The test itself, on what is broken.
TEST(ReturnGroup, IsFoundBrokenWhereAtomicsAre) {
    EXPECT_EQ(push_and_take<interleave::Relaxed>({{0}}, 1).found, "a data race");
    EXPECT_NE(push_and_take<interleave::Torn>({{0}, {0}}, 1).found, "");
}

} // namespace
