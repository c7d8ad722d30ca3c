#include "reap/interpose/control.h"

#include <cerrno>
#include <cstddef>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "reap/interpose/heap.h"
#include "reap/interpose/win32_like.h"

namespace {

using reap::interpose::Control;
using reap::interpose::HeapSettings;
using reap::interpose::HeapStatistics;

/// A heap whose figures are all different, and which trims to half or grows meanwhile.
struct Told {
    static constexpr const char *library = "libtold";
    static constexpr HeapSettings settings{.alignment = 8, .large_object = 1000, .keep = 2000};
    static HeapStatistics statistics() noexcept { return now; }
    static bool trim() noexcept {
        ++trims;
        now.chunks = after_trim;
        return true;
    }

    static constexpr HeapStatistics usual{.chunks = 10000,
                                          .large = 5000,
                                          .kept = 600,
                                          .large_objects = 3,
                                          .heaps = 7,
                                          .idle = 2,
                                          .idle_freed = 40,
                                          .mine = 900,
                                          .mine_freed = 50};
    static inline HeapStatistics now = usual;
    static inline std::size_t after_trim = 0;
    static inline int trims = 0;
};

class ControlTest : public testing::Test {
  protected:
    void SetUp() override {
        Told::now = Told::usual;
        Told::after_trim = 4000;
        Told::trims = 0;
    }
    template <class Served = Told>
    static int ask(const char *name, void *value = nullptr, std::size_t *size = nullptr,
                   const void *new_value = nullptr, std::size_t new_size = 0) {
        return Control(value, size, new_value, new_size).ask<Served>(name, "1.2.3");
    }
    template <class Served = Told, class Value = std::size_t>
    static Value value_of(const char *name) {
        Value value{};
        std::size_t size = sizeof value;
        EXPECT_EQ(ask<Served>(name, static_cast<void *>(&value), &size), 0) << name;
        EXPECT_EQ(size, sizeof value);
        return value;
    }
};

TEST_F(ControlTest, SaysWhatServes) {
    EXPECT_STREQ((value_of<Told, const char *>("version")), "1.2.3");
    EXPECT_STREQ((value_of<Told, const char *>("library")), "libtold");
}

TEST_F(ControlTest, HasEveryFigureByItsName) {
    EXPECT_EQ(value_of("stats.mapped"), 15000U);
    EXPECT_EQ(value_of("stats.allocated"), 15000U - 600 - 40 - 50);
    EXPECT_EQ(value_of("stats.chunks"), 10000U);
    EXPECT_EQ(value_of("stats.freed"), 90U);
    EXPECT_EQ(value_of("stats.large"), 5000U);
    EXPECT_EQ(value_of("stats.large_objects"), 3U);
    EXPECT_EQ(value_of("stats.kept"), 600U);
    EXPECT_EQ(value_of("stats.heaps"), 7U);
    EXPECT_EQ(value_of("stats.idle_heaps"), 2U);
    EXPECT_EQ(value_of("stats.thread_held"), 900U);
    EXPECT_EQ(value_of("stats.thread_freed"), 50U);
    EXPECT_EQ(value_of("settings.alignment"), 8U);
    EXPECT_EQ(value_of("settings.large_object"), 1000U);
    EXPECT_EQ(value_of("settings.keep"), 2000U);
}

TEST_F(ControlTest, KnowsNoOtherName) {
    for (const char *name :
         {"", "stats", "stats.", "stats.mapped ", "stats.map", "settings.", "settings.none", "Version"})
        EXPECT_EQ(ask(name), ENOENT) << name;
    EXPECT_EQ(ask(nullptr), EINVAL);
}

TEST_F(ControlTest, SetsNothing) {
    const std::size_t one = 1;
    for (const char *name : {"version", "library", "stats.mapped", "settings.keep", "purge"}) {
        EXPECT_EQ(ask(name, nullptr, nullptr, &one, sizeof one), EPERM) << name;
        EXPECT_EQ(ask(name, nullptr, nullptr, nullptr, 1), EPERM) << name;
    }
    EXPECT_EQ(ask("none", nullptr, nullptr, &one, sizeof one), ENOENT);
    EXPECT_EQ(Told::trims, 0);
}

TEST_F(ControlTest, TellsTheSizeWhereItIsWrongOrNothingIsRead) {
    std::size_t value = 1;
    std::size_t size = 4;
    EXPECT_EQ(ask("stats.mapped", &value, &size), EINVAL);
    EXPECT_EQ(size, sizeof value);
    EXPECT_EQ(ask("stats.mapped", &value, nullptr), EINVAL);
    EXPECT_EQ(value, 1U) << "nothing was read";
    size = 0;
    EXPECT_EQ(ask("stats.mapped", nullptr, &size), 0);
    EXPECT_EQ(size, sizeof value);
    EXPECT_EQ(ask("stats.mapped"), 0) << "whether it is known";
}

TEST_F(ControlTest, WritesAllFiguresAsJson) {
    const std::string all =
        R"({"library":"libtold","version":"1.2.3","allocated":14310,"mapped":15000,"chunks":10000,"freed":90,)"
        R"("large":5000,"large_objects":3,"kept":600,"heaps":7,"idle_heaps":2,"thread_held":900,)"
        R"("thread_freed":50})";
    char text[512];
    std::size_t size = sizeof text;
    EXPECT_EQ(ask("stats.json", text, &size), 0);
    EXPECT_EQ(text, all);
    EXPECT_EQ(size, all.size() + 1);
    EXPECT_EQ(ask("stats.json", text, &size), 0) << "that is enough";

    size = 0;
    EXPECT_EQ(ask("stats.json", nullptr, &size), 0);
    EXPECT_EQ(size, all.size() + 1);
    --size;
    EXPECT_EQ(ask("stats.json", text, &size), EINVAL);
    EXPECT_EQ(size, all.size() + 1);
    EXPECT_EQ(text, all.substr(0, all.size() - 1));
    EXPECT_EQ(ask("stats.json", text, nullptr), EINVAL);
    EXPECT_EQ(ask("stats.json"), 0);
    EXPECT_EQ(ask("stats.json", text, &size, &size, 1), EPERM);
}

TEST_F(ControlTest, PurgesAndSaysHowMuch) {
    EXPECT_EQ(value_of("purge"), 6000U);
    Told::after_trim = 20000;
    EXPECT_EQ(value_of("purge"), 0U) << "others allocated meanwhile";
    EXPECT_EQ(ask("purge"), 0);
    EXPECT_EQ(Told::trims, 3);
    std::size_t value = 1;
    std::size_t size = 1;
    EXPECT_EQ(ask("purge", &value, &size), EINVAL);
    EXPECT_EQ(Told::trims, 3) << "what cannot be told is not done";
}

template <class Served>
class ControlOf : public ControlTest {};
using Heaps = testing::Types<reap::interpose::Heap, reap::interpose::Win32Like>;
TYPED_TEST_SUITE(ControlOf, Heaps, );

TYPED_TEST(ControlOf, FollowsAHeap) {
    constexpr std::size_t large = std::size_t{24} << 20; // more than is kept
    void *const small = TypeParam::allocate(100);
    const std::size_t mapped = this->template value_of<TypeParam>("stats.mapped");
    const std::size_t allocated = this->template value_of<TypeParam>("stats.allocated");
    void *const object = TypeParam::allocate(large);
    EXPECT_GE(this->template value_of<TypeParam>("stats.mapped"), mapped + large);
    EXPECT_GE(this->template value_of<TypeParam>("stats.allocated"), allocated + large);
    EXPECT_GE(this->template value_of<TypeParam>("stats.large"), large);
    TypeParam::free(object);
    EXPECT_LE(this->template value_of<TypeParam>("stats.allocated"), allocated);
    TypeParam::free(small);
    this->template value_of<TypeParam>("purge");
    EXPECT_LE(this->template value_of<TypeParam>("stats.mapped"), mapped);
    EXPECT_EQ(this->template value_of<TypeParam>("settings.alignment"), TypeParam::granule);
    EXPECT_GT(this->template value_of<TypeParam>("settings.large_object"), 2016U);
}

TEST_F(ControlTest, CountsLargeObjectsWithoutThoseThatAreKept) {
    using reap::interpose::Heap;
    const auto count = [] { return Heap::statistics().large_objects; };
    const std::size_t before = count();
    void *const first = Heap::allocate(500000);
    void *const second = Heap::allocate(500000);
    EXPECT_EQ(count(), before + 2);
    Heap::free(first);
    EXPECT_GE(Heap::statistics().kept, 500000U);
    EXPECT_EQ(count(), before + 1);
    Heap::free(second);
    EXPECT_EQ(count(), before);
}

TEST_F(ControlTest, KnowsWhatIsFreeInHeapsOfThreadsThatEnded) {
    using reap::interpose::Heap;
    std::size_t held = 0;
    std::size_t freed = 0;
    // One object in two stays, so that nothing is merged or returned to the OS.
    static void *kept[1000];
    std::thread([&] {
        void *gone[1000];
        for (std::size_t at = 0; at < 1000; ++at) {
            kept[at] = Heap::allocate(64);
            gone[at] = Heap::allocate(64);
        }
        for (void *const object : gone) Heap::free(object);
        held = Heap::statistics().mine;
        freed = Heap::statistics().mine_freed;
    }).join();
    EXPECT_GE(held, 2000 * 64U);
    EXPECT_GE(freed, 1000 * 64U);
    EXPECT_GE(Heap::statistics().idle, 1U);
    EXPECT_GE(Heap::statistics().idle_freed, 900 * 64U) << "less what lies beside memory that was never used";
    for (void *const object : kept) Heap::free(object);
}

} // namespace
