#include "reap/layer/stack_like.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

#include "misuse_log.h"
#include "strict_source.h"

namespace {

using reap::Misuse;
using reap::StackLike;
using reap::StackLikeOptions;
using Kinds = std::vector<Misuse>;
using StrictStack = StackLike<reap::Ref<StrictSource>>;

/// An object whose every byte is its number.
struct StackedObject {
    unsigned char *data;
    std::size_t size;
    unsigned char number;
    [[nodiscard]] bool still_holds() const {
        for (std::size_t at = 0; at < size; ++at) {
            if (data[at] != number) return false;
        }
        return true;
    }
};

StackedObject write_object(void *data, std::size_t size, std::size_t number) {
    std::memset(data, static_cast<int>(number % 251), size);
    return {static_cast<unsigned char *>(data), size, static_cast<unsigned char>(number % 251)};
}

TEST(StackLike, KeepsWhatIsWritten) {
    StackLike stack(StackLikeOptions{.size = std::size_t{8} << 20U});
    std::vector<StackedObject> objects;
    for (std::size_t size = 0; size < 2000; ++size) {
        objects.push_back(write_object(stack.allocate(size), size, size));
        EXPECT_EQ(reap::padding_at(objects.back().data, 16), 0U);
    }
    for (const auto &object : objects) EXPECT_TRUE(object.still_holds());
    for (const auto &object : objects) stack.deallocate(object.data);
    EXPECT_EQ(stack.statistics().used, 0U);
}

TEST(StackLike, MeetsOrRefusesEachSizeAndAlignment) {
    StrictSource source;
    StrictStack stack{source, {.size = std::size_t{8} << 20U}};
    StrictStack growing{source, {.size = 1024, .grows = true}};
    const volatile std::size_t most = SIZE_MAX; // or the compiler sees that it cannot be met
    // Checked mode looks at each byte of what an alignment skips; the model goes further there.
    const std::size_t largest_alignment = std::size_t{1} << (reap::checked ? 15U : 21U);
    for (std::size_t alignment = 1; alignment <= largest_alignment; alignment *= 8) {
        for (unsigned power = 0; power <= 16; ++power) {
            for (const std::size_t size :
                 {std::size_t{0}, (std::size_t{1} << power) - 1, (std::size_t{1} << power) + 1}) {
                for (StrictStack *const each : {&stack, &growing}) {
                    void *const object = each->try_allocate(size, alignment);
                    ASSERT_NE(object, nullptr) << size << " at " << alignment;
                    EXPECT_EQ(reap::padding_at(object, alignment), 0U);
                    std::memset(object, 1, size);
                    each->deallocate(object, size, alignment);
                    EXPECT_EQ(each->statistics().used, 0U);
                }
            }
        }
        for (std::size_t below = 0; below <= 4096; ++below) {
            ASSERT_EQ(stack.try_allocate(most - below, alignment), nullptr);
            ASSERT_EQ(growing.try_allocate(most - below, alignment), nullptr);
        }
    }
    for (const std::size_t alignment : {0U, 3U, 24U}) {
        EXPECT_EQ(stack.try_allocate(8, alignment), nullptr);
        EXPECT_THROW((void)growing.allocate(8, alignment), std::bad_alloc);
    }
    EXPECT_EQ(stack.try_allocate(16, std::size_t{1} << 63U), nullptr);
    EXPECT_EQ(growing.try_allocate(16, std::size_t{1} << 63U), nullptr);
    EXPECT_NE(stack.try_allocate(16), nullptr);
}

TEST(StackLike, RefusesSizesThatNoMemoryHas) {
    EXPECT_THROW(StackLike<>(StackLikeOptions{.size = 0}), std::invalid_argument);
    EXPECT_THROW(StackLike<>(StackLikeOptions{.size = SIZE_MAX}), std::invalid_argument);
    EXPECT_THROW(StackLike<>(StackLikeOptions{.size = reap::max_object / 2}), std::bad_alloc);
    StackLike tiny(StackLikeOptions{.size = 1});
    if (!reap::checked) {
        void *const object = tiny.allocate(8);
        EXPECT_EQ(tiny.try_allocate(1), nullptr);
        tiny.deallocate(object);
        EXPECT_EQ(tiny.allocate(8), object);
    }
}

TEST(StackLike, IsExhaustedAtItsEndAndUsableAfterIt) {
    StrictSource source;
    StrictStack stack{source, {.size = 10000}};
    std::vector<StackedObject> objects;
    while (void *const data = stack.try_allocate(100))
        objects.push_back(write_object(data, 100, objects.size()));
    EXPECT_GT(objects.size(), 50U);
    if (!reap::checked) {
        EXPECT_EQ(objects.size(), 10000U / 112);
    }
    EXPECT_THROW((void)stack.allocate(100), std::bad_alloc);
    for (const auto &object : objects) EXPECT_TRUE(object.still_holds());
    // One that lives on holds all below it.
    const StackedObject last = objects.back();
    objects.pop_back();
    for (const auto &object : objects) stack.deallocate(object.data);
    EXPECT_EQ(stack.try_allocate(100), nullptr);
    EXPECT_TRUE(last.still_holds());
    stack.deallocate(last.data);
    EXPECT_EQ(stack.allocate(100), objects.front().data);
    EXPECT_EQ(source.calls(), 1U);
}

TEST(StackLike, RetreatsOverAllFreeObjectsAtTheEnd) {
    StackLike stack(StackLikeOptions{.size = std::size_t{8} << 20U});
    void *const a = stack.allocate(16);
    void *const b = stack.allocate(16);
    void *const c = stack.allocate(16);
    void *const d = stack.allocate(16);
    stack.deallocate(b);
    stack.deallocate(c, 16);
    EXPECT_NE(stack.allocate(16), b);
    stack.reset();
    EXPECT_EQ(stack.allocate(16), a);
    EXPECT_EQ(stack.allocate(16), b);
    EXPECT_EQ(stack.allocate(16), c);
    EXPECT_EQ(stack.allocate(16), d);
    stack.deallocate(b);
    stack.deallocate(c);
    stack.deallocate(d);
    EXPECT_EQ(stack.allocate(16), b);
    stack.deallocate(nullptr);
    stack.deallocate(nullptr, 16);
}

/// Frees objects, and expects the pointer to be behind the last live one after each.
template <class Stack>
void free_and_look(Stack &stack, std::vector<StackedObject> &objects, std::vector<std::size_t> &behind,
                   std::size_t which) {
    ASSERT_TRUE(objects[which].still_holds());
    stack.deallocate(objects[which].data);
    objects[which].data = nullptr;
    while (!objects.empty() && objects.back().data == nullptr) {
        objects.pop_back();
        behind.pop_back();
    }
    ASSERT_EQ(stack.statistics().used, behind.empty() ? 0 : behind.back());
}

TEST(StackLike, IsRightInEveryOrderOfFreeing) {
    StrictSource source;
    constexpr std::size_t sizes[] = {1, 100, 8, 200, 24, 9, 0};
    for (const bool grows : {false, true}) {
        StrictStack stack{source, {.size = grows ? std::size_t{200} : 4000, .grows = grows}};
        for (std::size_t count = 1; count <= 7; ++count) {
            std::vector<std::size_t> order(count);
            std::iota(order.begin(), order.end(), 0);
            do {
                std::vector<StackedObject> objects;
                std::vector<std::size_t> behind;
                for (std::size_t number = 0; number < count; ++number) {
                    objects.push_back(write_object(stack.allocate(sizes[number]), sizes[number], number));
                    behind.push_back(stack.statistics().used);
                }
                for (const std::size_t which : order) free_and_look(stack, objects, behind, which);
            } while (std::next_permutation(order.begin(), order.end()));
        }
    }
}

// Seven allocations and seven frees, in every order there is; in checked mode, which is slow, six.
TEST(StackLike, IsRightInEveryOrderOfAllocatingAndFreeing) {
    constexpr std::size_t count = reap::checked ? 6 : 7;
    StackLike stack(StackLikeOptions{.size = 10000});
    std::vector<int> steps; // -1: allocate; k: free the object allocated as the k-th
    std::size_t sequences = 0;
    const auto run = [&] {
        std::vector<StackedObject> objects;
        unsigned char *end = nullptr; // of the last live object
        for (const int step : steps) {
            if (step < 0) {
                const std::size_t size = 10 + 30 * objects.size();
                objects.push_back(write_object(stack.allocate(size), size, objects.size()));
                if (end != nullptr) {
                    ASSERT_GE(objects.back().data, end);
                }
            } else {
                auto &object = objects[static_cast<std::size_t>(step)];
                ASSERT_TRUE(object.still_holds());
                stack.deallocate(object.data);
                object.data = nullptr;
            }
            end = nullptr;
            for (const auto &object : objects) {
                if (object.data != nullptr) end = object.data + object.size;
            }
            if (end == nullptr) {
                ASSERT_EQ(stack.statistics().used, 0U);
            }
        }
        ++sequences;
    };
    const auto extend = [&](const auto &self, std::size_t allocated, unsigned freed) -> void {
        if (steps.size() == 2 * count) return run();
        if (allocated < count) {
            steps.push_back(-1);
            self(self, allocated + 1, freed);
            steps.pop_back();
        }
        for (std::size_t which = 0; which < allocated; ++which) {
            if ((freed >> which & 1U) != 0) continue;
            steps.push_back(static_cast<int>(which));
            self(self, allocated, freed | 1U << which);
            steps.pop_back();
        }
    };
    extend(extend, 0, 0);
    EXPECT_EQ(sequences, reap::checked ? 10395U : 135135U); // in so many ways can the steps be paired
}

TEST(StackLike, GrowsAndRetreatsOverPieces) {
    StrictSource source;
    StrictStack stack{source, {.size = 1000, .grows = true}};
    std::vector<StackedObject> objects;
    objects.reserve(100);
    for (std::size_t number = 0; number < 100; ++number)
        objects.push_back(write_object(stack.allocate(100), 100, number));
    const StackedObject large = write_object(stack.allocate(10000), 10000, 1);
    EXPECT_GT(stack.statistics().pieces, 10U);
    for (const auto &object : objects) {
        EXPECT_TRUE(object.still_holds());
        EXPECT_TRUE(stack.owns(object.data));
    }
    const std::size_t pieces = stack.statistics().pieces;
    for (std::size_t at = 0; at + 1 < objects.size(); ++at) stack.deallocate(objects[at].data);
    EXPECT_EQ(stack.statistics().pieces, pieces);
    EXPECT_TRUE(large.still_holds());
    stack.deallocate(large.data);
    EXPECT_EQ(stack.statistics().pieces, pieces); // one is kept
    stack.deallocate(objects.back().data);
    EXPECT_EQ(stack.statistics().used, 0U);
    EXPECT_EQ(stack.statistics().pieces, 2U);
    EXPECT_EQ(source.blocks(), 2U);
    stack.reset();
    EXPECT_EQ(source.blocks(), 1U);
}

TEST(StackLike, StandsStillWhereItGoesToAndFro) {
    StrictSource source;
    StrictStack stack{source, {.size = 1000, .grows = true}};
    while (stack.statistics().pieces == 1) (void)stack.allocate(100);
    const std::size_t calls = source.calls();
    void *last = stack.allocate(900);
    for (int round = 0; round < 100; ++round) {
        stack.deallocate(last);
        last = stack.allocate(900);
    }
    EXPECT_LE(source.calls(), calls + 2);
}

/// Allocates and frees as the seed says; what must hold is looked at. Returns how many calls were refused.
unsigned use(StrictStack &stack, unsigned seed, unsigned steps) {
    std::mt19937 random(seed);
    std::vector<StackedObject> live;
    unsigned refused = 0;
    const auto below = [&](std::size_t bound) { return random() % bound; };
    for (unsigned step = 0; step < steps; ++step) {
        const std::size_t size = below(20) == 0 ? below(3000) : below(100);
        if (below(2) == 0) {
            const std::size_t alignment = std::size_t{1} << below(9);
            if (void *const data = stack.try_allocate(size, alignment); data == nullptr) {
                ++refused;
            } else {
                EXPECT_EQ(reap::padding_at(data, alignment), 0U);
                live.push_back(write_object(data, size, step));
            }
        } else if (!live.empty()) {
            const std::size_t which = live.size() - 1 - below(live.size()) / (1 + below(9));
            EXPECT_TRUE(live[which].still_holds());
            stack.deallocate(live[which].data);
            live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
        }
        if (below(500) == 0) {
            stack.reset();
            live.clear();
        }
        if (live.empty()) {
            EXPECT_EQ(stack.statistics().used, 0U);
        }
    }
    for (const auto &object : live) {
        EXPECT_TRUE(object.still_holds());
        stack.deallocate(object.data);
    }
    EXPECT_EQ(stack.statistics().used, 0U);
    return refused;
}

TEST(StackLike, KeepsTheModelUnderRandomUse) {
    for (unsigned seed = 1; seed <= 20; ++seed) {
        SCOPED_TRACE(seed);
        StrictSource source;
        StrictStack growing{source, {.size = 2000, .grows = true}};
        EXPECT_EQ(use(growing, seed, 3000), 0U);
        StrictStack fixed{source, {.size = 20000}};
        (void)use(fixed, seed, 3000);
    }
}

TEST(StackLike, SurvivesEachFailureOfItsSource) {
    for (const std::size_t failures : {std::size_t{1}, SIZE_MAX}) {
        for (std::size_t good = 0;; ++good) {
            SCOPED_TRACE(good);
            StrictSource source;
            source.fail_after(good, failures);
            if (good == 0) {
                EXPECT_THROW(StrictStack(source, {.size = 1000}), StrictFailure);
                continue;
            }
            StrictStack stack{source, {.size = 1000, .grows = true}};
            (void)use(stack, 5, 400);
            const bool reached = source.calls() > good;
            source.fail_never();
            EXPECT_EQ(use(stack, 6, 200), 0U);
            if (!reached) break;
        }
    }
}

TEST(StackLike, PassesOnWhatItsSourceThrows) {
    StrictSource source;
    StrictStack stack{source, {.size = 100, .grows = true}};
    source.fail_after(0);
    EXPECT_THROW((void)stack.allocate(1000), StrictFailure);
    EXPECT_EQ(stack.try_allocate(1000), nullptr);
}

TEST(StackLike, StandsOnAnySourceAndIsOne) {
    static_assert(reap::Source<StackLike<>>);
    StackLike outer(StackLikeOptions{.size = 10000});
    StackLike inner{outer, StackLikeOptions{.size = 1000}};
    static_assert(std::is_same_v<decltype(inner), StackLike<reap::Ref<StackLike<>>>>);
    void *const object = inner.allocate(100);
    EXPECT_TRUE(inner.owns(object));
    EXPECT_TRUE(outer.owns(object));
    EXPECT_FALSE(inner.owns(&outer));
}

class CheckedStackLike : public testing::Test {
  protected:
    void SetUp() override {
        if (!reap::checked) GTEST_SKIP() << "only in checked mode";
    }
    unsigned char *allocate(std::size_t size) { return static_cast<unsigned char *>(stack_.allocate(size)); }

    MisuseLog log_;
    StackLike<> stack_{StackLikeOptions{.size = 100000, .grows = true}};
};

TEST_F(CheckedStackLike, FindsWritesOutsideObjects) {
    auto *const first = allocate(40);
    auto *const second = allocate(40);
    write_anyway(second + 40, 1);
    stack_.deallocate(second);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::overflow});
    write_anyway(first - 1, 1);
    stack_.reset();
    EXPECT_EQ(MisuseLog::take(), Kinds({Misuse::overflow, Misuse::underflow}));
}

TEST_F(CheckedStackLike, FindsWritesToFreedObjects) {
    auto *const first = allocate(40);
    stack_.deallocate(first);
    write_anyway(first, 1);
    EXPECT_EQ(allocate(40), first);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::use_after_free});
    auto *const second = allocate(40);
    stack_.deallocate(first);
    write_anyway(first, 1);
    stack_.deallocate(second); // retreats over the first
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::use_after_free});
    EXPECT_EQ(allocate(40), first);
    stack_.reset();
    write_anyway(first, 1);
    EXPECT_EQ(allocate(40), first);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::use_after_reset});
}

TEST_F(CheckedStackLike, FindsWrongFrees) {
    auto *const first = allocate(40);
    auto *const second = allocate(40);
    stack_.deallocate(second, 41);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::wrong_size});
    stack_.deallocate(first);
    stack_.deallocate(first); // not retreated over yet
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::double_free});
    stack_.deallocate(second, 40);
    stack_.deallocate(second, 40);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::double_free});
    int stranger = 0;
    stack_.deallocate(&stranger);
    stack_.deallocate(allocate(40) + 8);
    EXPECT_EQ(MisuseLog::take(), Kinds({Misuse::foreign_free, Misuse::foreign_free}));
}

} // namespace
