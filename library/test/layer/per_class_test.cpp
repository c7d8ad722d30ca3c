#include "reap/layer/per_class.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <unordered_set>
#include <vector>

#include "misuse_log.h"
#include "strict_source.h"

namespace {

using reap::Freelist;
using reap::Misuse;
using reap::PerClass;
using reap::Ref;
using Kinds = std::vector<Misuse>;

struct Small {
    char byte;
};
struct alignas(64) Line {
    unsigned char bytes[64];
};
struct Node {
    Node *next;
    std::string text;
    int value;
};

static_assert(!std::is_copy_constructible_v<PerClass<int>> && !std::is_move_constructible_v<PerClass<int>> &&
              !std::is_copy_assignable_v<PerClass<int>> && !std::is_move_assignable_v<PerClass<int>>);

TEST(PerClass, AsksTheSourceForEachObjectOnce) {
    StrictSource source;
    PerClass<Node, Ref<StrictSource>> nodes{Ref{source}};
    std::vector<Node *> all;
    all.reserve(10);
    for (int i = 0; i < 10; ++i) all.push_back(nodes.create(nullptr, std::to_string(i), i));
    EXPECT_EQ(source.blocks(), 10U);
    for (Node *node : all) nodes.destroy(node);
    EXPECT_EQ(nodes.free_objects(), 10U);
    EXPECT_EQ(source.blocks(), 10U);
    std::reverse(all.begin(), all.end());
    if (!reap::hardened) { // where they wait in quarantine
        for (Node *node : all) EXPECT_EQ(nodes.create(), node) << "last in, first out";
        EXPECT_EQ(source.calls(), 10U);
        for (Node *node : all) nodes.destroy(node);
    }
    nodes.release();
    EXPECT_EQ(nodes.free_objects(), 0U);
    EXPECT_EQ(source.blocks(), 0U);
}

TEST(PerClass, GivesEachObjectBackWhereTheListIsOff) {
    StrictSource source;
    PerClass<Node, Ref<StrictSource>> nodes{Ref{source}, Freelist::off};
    Node *const node = nodes.create();
    EXPECT_EQ(source.blocks(), 1U);
    nodes.destroy(node);
    EXPECT_EQ(source.blocks(), 0U);
    EXPECT_EQ(nodes.free_objects(), 0U);
}

TEST(PerClass, ServesSmallAndEmptyTypes) {
    PerClass<Small> pool;
    Small *const first = pool.create('a');
    Small *const second = pool.create('b');
    EXPECT_EQ(first->byte, 'a');
    pool.destroy(first);
    EXPECT_EQ(second->byte, 'b');
    pool.destroy(second);
    pool.destroy(nullptr);
    pool.deallocate(nullptr);
}

// boost::object_pool returns misaligned memory for such a type: 100 of 100.
TEST(PerClass, AlignsATypeOfACacheLine) {
    PerClass<Line> pool;
    std::vector<Line *> all;
    all.reserve(100);
    for (int i = 0; i < 100; ++i) {
        all.push_back(pool.create());
        EXPECT_EQ(reap::padding_at(all.back(), 64), 0U);
    }
    for (Line *line : all) pool.destroy(line);
}

// boost::object_pool::destroy walks its ordered list: in this order 200000 objects would take minutes.
TEST(PerClass, DestroysInConstantTime) {
    PerClass<Small> pool;
    std::vector<Small *> all(200000);
    for (Small *&object : all) object = pool.create();
    for (Small *object : all) pool.destroy(object);
    for (Small *&object : all) object = pool.create();
    std::reverse(all.begin(), all.end());
    for (Small *object : all) pool.destroy(object);
    // Of the second round some are new, since as many of the first were in quarantine.
    EXPECT_EQ(pool.free_objects(), all.size() + (reap::hardened ? REAP_QUARANTINE : 0));
}

TEST(PerClass, LeavesNothingWhenAConstructorThrows) {
    struct Thrower {
        Thrower() { throw std::runtime_error("no"); }
        char room[100];
    };
    PerClass<Thrower> pool;
    EXPECT_THROW((void)pool.create(), std::runtime_error);
    EXPECT_EQ(pool.free_objects(), 1U);
}

TEST(PerClass, SurvivesEveryFailureOfItsSource) {
    for (std::size_t good = 0; good < 5; ++good) {
        StrictSource source;
        PerClass<Node, Ref<StrictSource>> nodes{Ref{source}};
        source.fail_after(good);
        std::vector<void *> all;
        while (void *const memory = nodes.try_allocate()) all.push_back(memory);
        EXPECT_EQ(all.size(), good);
        EXPECT_THROW((void)nodes.create(), StrictFailure);
        for (void *memory : all) nodes.deallocate(memory);
        for (std::size_t i = 0; i < good; ++i) all[i] = nodes.allocate();
        source.fail_never();
        all.push_back(nodes.allocate());
        for (void *memory : all) nodes.deallocate(memory);
    }
}

TEST(CheckedPerClass, FindsMisuse) {
    if (!reap::checked) GTEST_SKIP() << "only in checked mode";
    const MisuseLog log;
    PerClass<Line> pool;
    PerClass<Line> other;
    Line *const line = pool.create();
    other.destroy(line);
    alignas(64) Line strangers[3];
    pool.destroy(&strangers[2]);
    EXPECT_EQ(MisuseLog::take(), (Kinds{Misuse::foreign_free, Misuse::foreign_free}));
    write_anyway(line->bytes + 64, 1);
    pool.destroy(line);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::overflow});
    write_anyway(line->bytes + 64, 0xA9);
    write_anyway(line->bytes - 1, 1);
    pool.destroy(line);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::underflow});
    write_anyway(line->bytes - 1, 0xA6);
    pool.destroy(line);
    pool.destroy(line);
    pool.deallocate(line);
    EXPECT_EQ(MisuseLog::take(), Kinds(2, Misuse::double_free));
    write_anyway(line->bytes, 1);
    EXPECT_EQ(pool.create(), line);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::use_after_free});
    pool.destroy(line);
    write_anyway(line->bytes, 1);
    pool.release();
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::use_after_free});
}

TEST(Malloc, IsASourceOfAnyAlignment) {
    static_assert(reap::Source<reap::Malloc>);
    for (std::size_t alignment = 1; alignment <= 65536; alignment *= 2) {
        for (const std::size_t size : std::vector<std::size_t>{0, 1, 100}) {
            void *const data = reap::Malloc::try_allocate(size, alignment);
            ASSERT_NE(data, nullptr);
            EXPECT_EQ(reap::padding_at(data, alignment), 0U);
            std::memset(data, 1, size);
            reap::Malloc::deallocate(data, size, alignment);
        }
    }
    EXPECT_EQ(reap::Malloc::try_allocate(8, 0), nullptr);
    EXPECT_EQ(reap::Malloc::try_allocate(8, 24), nullptr);
    EXPECT_EQ(reap::Malloc::try_allocate(SIZE_MAX, 64), nullptr);
}

/// Pages, for as often as a test wants.
struct ScarcePages : reap::SystemPages {
    static void *try_allocate(std::size_t size, std::size_t alignment) noexcept {
        return left-- > 0 ? SystemPages::try_allocate(size, alignment) : nullptr;
    }
    static inline int left = 0;
};

TEST(AddressSet, StaysAsItWasWhereThereIsNoMemory) {
    reap::AddressSet<ScarcePages> set;
    std::vector<char> places(4096);
    ScarcePages::left = 0;
    EXPECT_FALSE(set.insert(places.data()));
    EXPECT_FALSE(set.contains(places.data()));
    ScarcePages::left = 1;
    std::size_t had = 0;
    while (set.insert(&places[had])) ++had;
    EXPECT_GE(had, 256U);
    for (const char &place : places) ASSERT_EQ(set.contains(&place), &place < &places[had]);
}

TEST(AddressSet, HoldsWhatAModelHolds) {
    std::mt19937 random(5); // NOLINT(cert-msc51-cpp)
    reap::AddressSet<reap::SystemPages> set;
    std::unordered_set<const void *> model;
    std::vector<char> places(4096);
    EXPECT_FALSE(set.contains(places.data()));
    for (int step = 0; step < 100000; ++step) {
        const void *const address = &places[random() % places.size()];
        ASSERT_EQ(set.contains(address), model.contains(address));
        if (model.contains(address)) {
            set.erase(address);
            model.erase(address);
        } else {
            ASSERT_TRUE(set.insert(address));
            model.insert(address);
        }
    }
    for (const char &place : places) ASSERT_EQ(set.contains(&place), model.contains(&place));
}

} // namespace
