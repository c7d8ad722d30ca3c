// interpose/scoped_part.h as scopes use it: where objects lie, that each may outlive its scope, and what is
// bounded.

#include <array>
#include <atomic>
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <pthread.h>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "heap_use.h"
#include "reap/interpose/heap.h"

namespace {

using reap::interpose::Heap;
using reap::interpose::ScopedPart;

constexpr std::size_t chunk = ScopedPart::chunk_size;

/// As reap::Scope.
class Scope {
  public:
    Scope() : number_(Heap::open_scope()) {}
    ~Scope() { Heap::close_scope(number_); }
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;
    [[nodiscard]] std::size_t number() const { return number_; }

  private:
    std::size_t number_;
};

std::uintptr_t chunk_of(const void *object) { return reinterpret_cast<std::uintptr_t>(object) / chunk; }

std::set<std::uintptr_t> chunks_of(const std::vector<void *> &objects) {
    std::set<std::uintptr_t> found;
    for (const void *object : objects) found.insert(chunk_of(object));
    return found;
}
void free_all(const std::vector<void *> &objects) {
    for (void *object : objects) Heap::free(object);
}

TEST(Scope, ObjectsLieSideBySide) {
    const Scope scope;
    auto *before = static_cast<std::byte *>(Heap::allocate(40));
    const std::vector<void *> objects = signed_objects(100, 40);
    for (void *object : objects) {
        EXPECT_EQ(static_cast<std::byte *>(object) - before, 48);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(object) % 16, 0U);
        EXPECT_GE(Heap::usable_size(object), 40U);
        EXPECT_TRUE(Heap::may_own(object));
        before = static_cast<std::byte *>(object);
    }
    for (void *object : objects) EXPECT_TRUE(is_signed(object, 40));
    free_all(objects);
}

TEST(Scope, ServesAllSizesAndAlignments) {
    const Scope scope;
    std::vector<std::pair<void *, std::size_t>> objects;
    for (std::size_t size = 0; size < 3 * megabyte; size += size / 5 + 1) {
        for (std::size_t alignment = 16; alignment <= 4096; alignment *= 16) {
            void *const object = Heap::allocate(size, alignment);
            ASSERT_NE(object, nullptr);
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(object) % alignment, 0U);
            EXPECT_GE(Heap::usable_size(object), size);
            sign(object, size);
            objects.emplace_back(object, size);
        }
    }
    for (const auto &[object, size] : objects) {
        EXPECT_TRUE(is_signed(object, size)) << size;
        Heap::free(object);
    }
    EXPECT_EQ(Heap::allocate(~std::size_t{0}), nullptr);
}

TEST(Scope, TheNextOneUsesTheSameMemoryAgain) {
    std::set<std::uintptr_t> seen;
    for (int round = 0; round < 1000; ++round) {
        const Scope scope;
        const std::vector<void *> objects = signed_objects(100, 100);
        seen.merge(chunks_of(objects));
        free_all(objects);
    }
    EXPECT_EQ(seen.size(), 1U);
}

TEST(Scope, AnObjectThatOutlivesItKeepsItsChunkAlone) {
    std::vector<void *> kept;
    {
        const Scope scope;
        std::vector<void *> objects = signed_objects(1000, 100); // four chunks
        kept.push_back(objects[500]);
        objects.erase(objects.begin() + 500);
        free_all(objects);
    }
    const std::size_t held = Heap::statistics().mine;
    for (int round = 0; round < 100; ++round) {
        const Scope scope;
        const std::vector<void *> objects = signed_objects(900, 100);
        for (void *object : objects) EXPECT_NE(chunk_of(object), chunk_of(kept[0]));
        free_all(objects);
    }
    EXPECT_LE(Heap::statistics().mine, held + 2 * chunk);
    EXPECT_TRUE(is_signed(kept[0], 100));
    Heap::free(kept[0]); // outside of every scope
}

TEST(Scope, WhatOutlivesItIsBoundedAndThenTheHeaps) {
    std::vector<void *> kept;
    const std::size_t before = Heap::statistics().mine;
    for (int round = 0; round < 3000; ++round) {
        const Scope scope;
        std::vector<void *> objects = signed_objects(40, 1000); // more than a chunk
        kept.push_back(objects.back());
        objects.pop_back();
        free_all(objects);
    }
    // 3,000 kilobytes that are kept, the pinned chunks, and what a heap rounds up.
    EXPECT_LE(Heap::statistics().mine, before + 8 * megabyte);
    for (const void *object : kept) EXPECT_TRUE(is_signed(object, 1000));
    free_all(kept);
    const Scope scope; // it has chunks again
    const std::vector<void *> objects = signed_objects(3000, 16);
    EXPECT_LE(chunks_of(objects).size(), 5U);
    free_all(objects);
}

TEST(Scope, AnInnerOneHasChunksOfItsOwn) {
    const Scope outer;
    std::vector<void *> outside;
    std::set<std::uintptr_t> within;
    for (int round = 0; round < 100; ++round) {
        outside.push_back(Heap::allocate(64));
        const Scope inner;
        EXPECT_EQ(inner.number(), outer.number() + 1);
        const std::vector<void *> objects = signed_objects(50, 64);
        within.merge(chunks_of(objects));
        free_all(objects);
    }
    EXPECT_EQ(within.size(), 1U);
    EXPECT_EQ(chunks_of(outside).size(), 1U);
    EXPECT_FALSE(within.contains(chunk_of(outside[0])));
    free_all(outside);
}

TEST(Scope, AnInnerOneHasChunksBesideManyOfAnOuterOne) {
    const Scope outer;
    const std::vector<void *> outside = signed_objects(30000, 100); // more than may be pinned
    EXPECT_LE(chunks_of(outside).size(), 105U) << "all of them lie in its chunks";
    for (int round = 0; round < 100; ++round) {
        const Scope inner;
        const std::vector<void *> objects = signed_objects(50, 64);
        EXPECT_EQ(chunks_of(objects).size(), 1U);
        free_all(objects);
    }
    free_all(outside);
}

TEST(Scope, WhatOtherThreadsFreeOfAnOpenOneIsUsedAgain) {
    const Scope scope;
    const std::size_t before = Heap::statistics().mine;
    for (int round = 0; round < (REAP_TSAN ? 5 : 100); ++round) {
        const std::vector<void *> objects = signed_objects(3000, 100);
        std::thread([&] { free_all(objects); }).join();
    }
    EXPECT_LE(Heap::statistics().mine, before + 40 * chunk);
}

TEST(Scope, OfTooManyTheLastHaveNoChunks) {
    std::array<std::size_t, ScopedPart::most_open + 3> open{};
    for (std::size_t &each : open) each = Heap::open_scope();
    EXPECT_EQ(open[ScopedPart::most_open - 1], ScopedPart::most_open);
    EXPECT_EQ(open[ScopedPart::most_open], 0U);
    Heap::free(Heap::allocate(10));
    for (const std::size_t each : open) Heap::close_scope(each); // the first closes all
    Heap::close_scope(7);
    EXPECT_TRUE(Heap::leave_scope(true)) << "none is open";
}

TEST(Scope, OutsideIsTheHeapAgain) {
    const Scope scope;
    void *const within = Heap::allocate(100);
    EXPECT_FALSE(Heap::leave_scope(true));
    void *const out = Heap::allocate(100);
    EXPECT_NE(chunk_of(out), chunk_of(within));
    {
        const Scope inner; // in the midst of it
        void *const object = Heap::allocate(100);
        EXPECT_NE(chunk_of(object), chunk_of(out));
        Heap::free(object);
    }
    EXPECT_TRUE(Heap::leave_scope(true)) << "as it was before the inner one";
    EXPECT_TRUE(Heap::leave_scope(false));
    void *const again = Heap::allocate(100);
    EXPECT_EQ(chunk_of(again), chunk_of(within));
    free_all({within, out, again});
}

TEST(Scope, ResizesWhereItCanAndKeepsWhatIsTheHeaps) {
    auto *heaps = static_cast<std::byte *>(Heap::allocate(3000));
    sign(heaps, 3000);
    const Scope scope;
    void *object = Heap::allocate(10);
    sign(object, 10);
    void *const first = object;
    for (std::size_t size = 11; size < 3000; ++size) {
        object = Heap::reallocate(object, size);
        ASSERT_EQ(object, first) << "it is the last";
    }
    EXPECT_TRUE(is_signed(object, 10));
    void *const behind = Heap::allocate(10);
    object = Heap::reallocate(object, 4000);
    EXPECT_NE(object, first);
    EXPECT_TRUE(is_signed(object, 10));
    object = Heap::reallocate(object, 100000); // too large for a scope
    EXPECT_TRUE(is_signed(object, 10));
    object = Heap::reallocate(object, 10);
    EXPECT_TRUE(is_signed(object, 10));
    void *const grown = Heap::reallocate(heaps, 3500);
    EXPECT_NE(chunk_of(grown), chunk_of(behind));
    EXPECT_TRUE(is_signed(grown, 0) || static_cast<unsigned char *>(grown)[0] == 3000 % 251);
    free_all({object, behind, grown});
}

TEST(Scope, OwnObjectsOfTheHeapAreFreedInIt) {
    const std::vector<void *> objects = signed_objects(1000, 100);
    const std::vector<void *> middle = signed_objects(10, 10000);
    const std::vector<void *> large = signed_objects(2, megabyte);
    {
        const Scope scope;
        free_all(objects);
        free_all(middle);
        free_all(large);
    }
    const std::vector<void *> again = signed_objects(1000, 100);
    std::set<void *> before(objects.begin(), objects.end());
    EXPECT_TRUE(std::any_of(again.begin(), again.end(), [&](void *each) { return before.contains(each); }));
    free_all(again);
}

TEST(Scope, OtherThreadsFreeItsObjects) {
    constexpr int rounds = REAP_TSAN ? 200 : 2000;
    std::array<std::atomic<void *>, 256> slots{};
    std::atomic<bool> over{false};
    std::thread other([&] {
        while (!over) {
            for (auto &slot : slots) {
                void *const object = slot.exchange(nullptr);
                if (object == nullptr) continue;
                EXPECT_TRUE(is_signed(object, 200));
                Heap::free(object);
            }
        }
    });
    const std::size_t before = Heap::statistics().mine;
    std::size_t at = 0;
    for (int round = 0; round < rounds; ++round) {
        const Scope scope;
        const std::vector<void *> objects = signed_objects(100, 200);
        for (void *object : objects) {
            void *const left = slots[at++ % slots.size()].exchange(object);
            if (left != nullptr) Heap::free(left);
        }
    }
    over = true;
    other.join();
    for (auto &slot : slots) Heap::free(slot.exchange(nullptr));
    EXPECT_LE(Heap::statistics().mine, before + 80 * chunk);
}

TEST(Scope, AThreadMayEndInTheMidstOfOne) {
    void *left = nullptr;
    for (int round = 0; round < 20; ++round) {
        std::thread([&] {
            EXPECT_EQ(Heap::open_scope(), 1U) << "the heap that it gets has none open";
            void *const object = Heap::allocate(100);
            sign(object, 100);
            if (left != nullptr) {
                EXPECT_TRUE(is_signed(left, 100));
                Heap::free(left);
            }
            left = object;
        }).join();
    }
    Heap::free(left);
}

TEST(Scope, ALongJumpOutOfOneIsClosedWithTheScopeAroundIt) {
    std::jmp_buf back;
    const std::size_t outer = Heap::open_scope();
    // Programs of C do so. NOLINTBEGIN(cert-err52-cpp,modernize-avoid-setjmp-longjmp)
    if (setjmp(back) == 0) {
        (void)Heap::open_scope();
        (void)Heap::open_scope();
        std::longjmp(back, 1);
    }
    // NOLINTEND(cert-err52-cpp,modernize-avoid-setjmp-longjmp)
    Heap::close_scope(outer);
    EXPECT_EQ(Heap::open_scope(), outer);
    Heap::close_scope(outer);
}

TEST(Scope, AChildOfAForkGoesOnInIt) {
    if (REAP_TSAN) GTEST_SKIP() << "its runtime forks in a way of its own";
    const Scope scope;
    const std::vector<void *> objects = signed_objects(10, 100);
    const pid_t child = ::fork();
    if (child == 0) {
        void *const object = Heap::allocate(100);
        const bool same = chunk_of(object) == chunk_of(objects[0]);
        free_all(objects);
        Heap::free(object);
        ::_exit(same ? 0 : 1);
    }
    int status = 1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    free_all(objects);
}

TEST(Scope, TrimReturnsItsChunks) {
    {
        const Scope scope;
        free_all(signed_objects(5000, 100)); // sixteen chunks
    }
    const std::size_t before = Heap::statistics().mine;
    Heap::trim();
    EXPECT_LE(Heap::statistics().mine + 10 * chunk, before);
}

TEST(ScopeDeathTest, HardenedAndCheckedModeFindAnObjectThatIsFreedAgain) {
    if (!(reap::hardened || reap::checked) || REAP_TSAN) GTEST_SKIP() << "only in hardened and checked mode";
    const auto twice = [] {
        const Scope scope;
        const std::vector<void *> objects = signed_objects(3, 100);
        Heap::free(objects[1]);
        Heap::free(objects[1]);
    };
    EXPECT_DEATH(twice(), "double free");
    const auto resized = [] {
        const Scope scope;
        const std::vector<void *> objects = signed_objects(3, 100);
        Heap::free(objects[2]);
        Heap::free(Heap::reallocate(objects[2], 200));
    };
    EXPECT_DEATH(resized(), "double free") << "it came to life again";
}

} // namespace
