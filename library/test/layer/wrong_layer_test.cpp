// Frees into the wrong layer, in hardened and checked mode: each pair of layers, of one kind and of two,
// nested ones, those that stand on one another, and those of two threads. Each such free is reported, and
// nothing is changed by it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "misuse_log.h"
#include "reap/core/source.h"
#include "reap/layer/fixed_block.h"
#include "reap/layer/mempool.h"
#include "reap/layer/owned_reap.h"
#include "reap/layer/per_class.h"
#include "reap/layer/per_thread.h"
#include "reap/layer/per_thread_reap.h"
#include "reap/layer/reap.h"
#include "reap/layer/region.h"
#include "reap/layer/size_class_allocator.h"
#include "reap/source/superblocks.h"

namespace {

using reap::Misuse;

struct Object {
    std::array<std::uint64_t, 6> words;
};

/// A layer by what these tests need, whatever it is: objects of the size of Object, and of one more.
struct Any {
    Any() = default;
    Any(const Any &) = delete;
    Any &operator=(const Any &) = delete;
    virtual ~Any() = default;
    virtual void *take() = 0;
    virtual void give(void *object) = 0;
    /// The layer, as reports name it.
    [[nodiscard]] virtual const void *address() const = 0;
    [[nodiscard]] virtual bool is_sound() const { return true; }
};

template <class Layer, std::size_t size = sizeof(Object)>
struct Sized : Any {
    template <class... Arguments>
    explicit Sized(Arguments &&...arguments) : layer(std::forward<Arguments>(arguments)...) {}
    void *take() override { return layer.allocate(size); }
    void give(void *object) override { layer.deallocate(object, size); }
    [[nodiscard]] const void *address() const override { return &layer; }
    [[nodiscard]] bool is_sound() const override {
        if constexpr (requires { layer.check(); }) return layer.check();
        return true;
    }
    Layer layer;
};
template <class Layer, std::size_t size = sizeof(Object)>
struct Unsized : Sized<Layer, size> {
    using Sized<Layer, size>::Sized;
    void give(void *object) override { this->layer.deallocate(object); }
};
template <class Layer>
struct Blocks : Any {
    template <class... Arguments>
    explicit Blocks(Arguments &&...arguments) : layer(std::forward<Arguments>(arguments)...) {}
    void *take() override { return layer.allocate(); }
    void give(void *object) override {
        if constexpr (requires { layer.deallocate(object); })
            layer.deallocate(object);
        else
            layer.deallocate(static_cast<Object *>(object));
    }
    [[nodiscard]] const void *address() const override { return &layer; }
    Layer layer;
};
struct OneClass : Any {
    // The region frees what the test does not.
    void *take() override { return layer.allocate(); }
    void give(void *object) override { layer.deallocate(object); }
    [[nodiscard]] const void *address() const override { return &layer; }
    reap::Region<> below;
    reap::PerClass<Object, reap::Ref<reap::Region<>>> layer{below};
};

using Make = std::function<std::unique_ptr<Any>()>;
struct Kind {
    const char *name;
    Make make;
    /// Whether layers of this kind free each other's objects, as documented.
    bool frees_others = false;
    /// Whether it checks in checked mode alone.
    bool only_checked = false;
};
template <class A, auto... arguments>
Make made() {
    return [] { return std::make_unique<A>(arguments...); };
}

std::vector<Kind> kinds() {
    constexpr std::size_t size = sizeof(Object);
    std::vector<Kind> all{
        {"Reap", made<Unsized<reap::Reap<>>>()},
        {"Reap, told the size", made<Sized<reap::Reap<>>>()},
        {"Reap of granule 16", made<Unsized<reap::Reap<reap::CachedSuperblocks, 16>>>()},
        {"Reap over superblocks of its own", made<Unsized<reap::Reap<reap::SystemPages>>>()},
        {"Reap, 1000 bytes", made<Unsized<reap::Reap<>, 1000>>()},
        {"Reap, 5000 bytes", made<Unsized<reap::Reap<>, 5000>>()},
        {"SizedReap", made<Sized<reap::SizedReap<>>>()},
        {"OwnedReap", made<Unsized<reap::OwnedReap<>>>(), true},
        {"OwnedReap of granule 16", made<Unsized<reap::OwnedReap<reap::CachedSuperblocks, 16>>>(), true},
        {"PerThreadReap", made<Unsized<reap::PerThreadReap<>>>(), true},
        {"FixedBlock", made<Blocks<reap::FixedBlock<>>, size>()},
        {"FixedBlock of 320", made<Blocks<reap::FixedBlock<>>, std::size_t{320}>()},
        {"PerThread<FixedBlock>", made<Blocks<reap::PerThread<reap::FixedBlock<>>>, size>()},
        {"SizeClassAllocator", made<Sized<reap::SizeClassAllocator<>>>()},
        {"PerThread<SizeClassAllocator>", made<Sized<reap::PerThread<reap::SizeClassAllocator<>>>>()},
        {"Mempool", made<Blocks<reap::Mempool<Object>>>()},
        {"PerClass", made<OneClass>()},
        {"Region", made<Sized<reap::Region<>>>(), false, true},
    };
    if constexpr (!reap::checked) std::erase_if(all, [](const Kind &kind) { return kind.only_checked; });
    return all;
}

/// Frees objects of one layer into another, before and after the other has begun to reuse memory. A
/// report names the other, if it names any.
void expect_found(Any &into, Any &of, const std::string &what) {
    constexpr std::size_t count = 300;
    std::vector<void *> mine;
    std::vector<void *> others;
    for (std::size_t number = 0; number < count; ++number) {
        mine.push_back(into.take());
        others.push_back(of.take());
    }
    for (const bool reuses : {false, true}) {
        if (reuses) into.give(mine[7]);
        EXPECT_EQ(MisuseLog::take(), std::vector<Misuse>{}) << what;
        for (std::size_t number = 0; number < count; number += 3) {
            into.give(others[number]);
            const auto &reports = MisuseLog::reports();
            ASSERT_EQ(reports.size(), 1U) << what << ", object " << number;
            EXPECT_EQ(reports.front().what, Misuse::foreign_free)
                << what << ": " << reap::to_string(reports.front().what);
            if (reports.front().owner != nullptr) {
                ASSERT_EQ(reports.front().owner, of.address()) << what;
            }
            MisuseLog::reports().clear();
        }
    }
    EXPECT_TRUE(into.is_sound() && of.is_sound()) << what;
    const std::set<void *> live(others.begin(), others.end());
    for (std::size_t number = 0; number < 2 * count; ++number)
        EXPECT_FALSE(live.contains(into.take())) << what;
    for (void *object : others) of.give(object);
    EXPECT_EQ(MisuseLog::take(), std::vector<Misuse>{}) << what;
}

TEST(WrongLayer, IsFoundInEachPairOfLayers) {
    const MisuseLog log;
    for (const Kind &into : kinds()) {
        for (const Kind &of : kinds()) {
            const bool same = std::string(into.name) == of.name;
            const bool by_owner = into.frees_others && of.frees_others &&
                                  (same || (std::string(into.name).find("16") == std::string::npos &&
                                            std::string(of.name).find("16") == std::string::npos));
            if (by_owner) continue;
            const auto one = into.make();
            const auto other = of.make();
            expect_found(*one, *other, std::string(of.name) + " into " + into.name);
        }
    }
}

template <class Layer>
struct Nested : Any {
    explicit Nested(Layer &of) : layer(of) {}
    void *take() override { return layer.allocate(sizeof(Object)); }
    void give(void *object) override { layer.deallocate(object, sizeof(Object)); }
    [[nodiscard]] const void *address() const override { return &layer; }
    [[nodiscard]] bool is_sound() const override {
        if constexpr (requires { layer.check(); }) return layer.check();
        return true;
    }
    Layer &layer;
};

template <class Layer>
void expect_found_among_nested(const char *name) {
    const MisuseLog log;
    Layer parent;
    auto &one = parent.nest();
    auto &other = parent.nest();
    auto &below = one.nest();
    Nested<Layer> of_parent(parent);
    Nested<std::remove_reference_t<decltype(one)>> of_one(one);
    Nested<std::remove_reference_t<decltype(other)>> of_other(other);
    Nested<std::remove_reference_t<decltype(below)>> of_below(below);
    const std::array<Any *, 4> all{&of_parent, &of_one, &of_other, &of_below};
    for (std::size_t into = 0; into < all.size(); ++into)
        for (std::size_t of = 0; of < all.size(); ++of)
            if (into != of)
                expect_found(*all[into], *all[of],
                             std::string(name) + " " + std::to_string(of) + " into " + std::to_string(into));
}

TEST(WrongLayer, IsFoundAmongNestedOnes) {
    expect_found_among_nested<reap::Reap<>>("Reap");
    expect_found_among_nested<reap::SizedReap<>>("SizedReap");
    expect_found_among_nested<reap::Reap<reap::SystemPages>>("Reap<SystemPages>");
    if constexpr (reap::checked) expect_found_among_nested<reap::Region<>>("Region");
}

TEST(WrongLayer, IsFoundAmongLayersThatShareSuperblocks) {
    const MisuseLog log;
    reap::Superblocks<> superblocks;
    using Shared = reap::Ref<reap::Superblocks<>>;
    Unsized<reap::Reap<Shared>> one{Shared(superblocks)};
    Unsized<reap::Reap<Shared>> other{Shared(superblocks)};
    Sized<reap::SizedReap<Shared>> third{Shared(superblocks)};
    expect_found(one, other, "Reap into Reap");
    expect_found(third, other, "Reap into SizedReap");
    expect_found(one, third, "SizedReap into Reap");
}

TEST(WrongLayer, IsFoundAmongThreads) {
    const MisuseLog log;
    for (const Kind &kind : kinds()) {
        if (kind.frees_others) continue;
        const auto here = kind.make();
        std::unique_ptr<Any> there;
        std::thread([&] {
            there = kind.make();
            expect_found(*here, *there, std::string(kind.name) + " in another thread");
            there.reset();
        }).join();
    }
}

TEST(WrongLayer, IsFoundForLargeObjects) {
    const MisuseLog log;
    for (const std::size_t alignment : {std::size_t{16}, std::size_t{2} << 20}) {
        reap::Reap<> one;
        reap::Reap<> other;
        std::array<void *, 4> mine{};
        std::array<void *, 4> others{};
        for (std::size_t number = 0; number < mine.size(); ++number) {
            mine[number] = one.allocate(std::size_t{1} << 20, alignment);
            others[number] = other.allocate(std::size_t{1} << 20, alignment);
        }
        for (void *object : others) {
            one.deallocate(object);
            EXPECT_EQ(MisuseLog::take(), std::vector{Misuse::foreign_free}) << alignment;
        }
        EXPECT_NE(one.try_reallocate(others[1], std::size_t{3} << 20), nullptr);
        EXPECT_EQ(MisuseLog::take(), std::vector{Misuse::foreign_free});
        EXPECT_TRUE(one.check() && other.check());
        for (void *&object : others) object = other.reallocate(object, std::size_t{3} << 20);
        for (void *object : others) other.deallocate(object);
        for (void *object : mine) one.deallocate(object);
        EXPECT_EQ(MisuseLog::take(), std::vector<Misuse>{});
    }
}

TEST(WrongLayer, RunsNoDestructor) {
    const MisuseLog log;
    static int ended;
    ended = 0;
    struct Counts {
        ~Counts() { ++ended; }
        std::uint64_t words[3] = {};
    };
    reap::Reap<> one;
    reap::Reap<> other;
    (void)one.create<Counts>();
    auto *const object = other.create<Counts>();
    auto *const first = other.create_array<Counts>(3);
    (void)one.create<Counts>();
    one.destroy(object);
    one.destroy_array(first, 3);
    reap::Mempool<Counts> pool;
    reap::Mempool<Counts> other_pool;
    (void)pool.create();
    pool.destroy(other_pool.create());
    EXPECT_EQ(MisuseLog::take(), std::vector(3, Misuse::foreign_free));
    EXPECT_EQ(ended, 0);
}

TEST(WrongLayer, IsNamedInTheReport) {
    if constexpr (!reap::hardened) GTEST_SKIP() << "only in hardened mode";
    const MisuseLog log;
    const auto expect_named = [](Any &into, Any &of) {
        (void)into.take();
        void *const object = of.take();
        (void)into.take();
        into.give(object);
        ASSERT_EQ(MisuseLog::reports().size(), 1U);
        // Unless it lies outside what the layer reads.
        const void *const owner = MisuseLog::reports().front().owner;
        EXPECT_TRUE(owner == of.address() || owner == nullptr);
        MisuseLog::reports().clear();
    };
    for (const Kind &kind : kinds()) {
        if (kind.frees_others) continue;
        const auto one = kind.make();
        const auto other = kind.make();
        expect_named(*one, *other);
    }
    // Out of one chunk of superblocks, between others.
    reap::Reap<> one;
    reap::Reap<> other;
    std::vector<void *> others;
    for (int number = 0; number < 4000; ++number) {
        (void)one.allocate(100);
        others.push_back(other.allocate(100));
    }
    std::size_t named = 0;
    for (void *object : others) {
        one.deallocate(object);
        named += MisuseLog::reports().back().owner == &other ? 1 : 0;
    }
    EXPECT_GT(named, others.size() / 8);
}

#if REAP_CHECKED

TEST(WrongLayer, IsFoundInTheLayerBelow) {
    using OnReap = reap::Ref<reap::Reap<>>;
    using OnRegion = reap::Ref<reap::Region<>>;
    const auto expect_each_found = [](const char *name, auto &below, auto &...above) {
        (..., [&] {
            std::vector<void *> objects;
            for (int number = 0; number < 50; ++number) objects.push_back(above.take());
            for (void *object : objects) {
                below.give(object);
                EXPECT_EQ(MisuseLog::reports().size(), 1U) << name;
                MisuseLog::reports().clear();
            }
            for (void *object : objects) above.give(object);
            EXPECT_EQ(MisuseLog::take(), std::vector<Misuse>{}) << name;
        }());
    };
    const MisuseLog log;
    Sized<reap::Region<>> region;
    Blocks<reap::FixedBlock<OnRegion>> blocks(OnRegion(region.layer), sizeof(Object));
    Blocks<reap::Mempool<Object, OnRegion>> pool(OnRegion(region.layer));
    Sized<reap::Region<OnRegion>> inner{OnRegion(region.layer)};
    expect_each_found("Region", region, blocks, pool, inner);
    Unsized<reap::Reap<>> reap;
    Blocks<reap::FixedBlock<OnReap>> reap_blocks(OnReap(reap.layer), sizeof(Object));
    Blocks<reap::Mempool<Object, OnReap>> reap_pool(OnReap(reap.layer));
    expect_each_found("Reap", reap, reap_blocks, reap_pool);
}

#endif

} // namespace
