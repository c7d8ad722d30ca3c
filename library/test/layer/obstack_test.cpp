#include "reap/layer/obstack.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "misuse_log.h"
#include "speaker.h"
#include "strict_source.h"

namespace {

using reap::Misuse;
using reap::Obstack;
using reap::ObstackOptions;
using Kinds = std::vector<Misuse>;
using StrictObstack = Obstack<reap::Ref<StrictSource>>;

// Chunks so small that every test crosses them.
constexpr ObstackOptions small{.first_chunk = 256, .growth = 2, .largest_chunk = 2048};

/// An object whose every byte is its number.
struct Numbered {
    unsigned char *data;
    std::size_t size;
    unsigned char number;
    [[nodiscard]] bool holds() const {
        for (std::size_t at = 0; at < size; ++at) {
            if (data[at] != number) return false;
        }
        return true;
    }
};

Numbered write(void *data, std::size_t size, unsigned char number) {
    std::memset(data, number, size);
    return {static_cast<unsigned char *>(data), size, number};
}

TEST(Obstack, KeepsWhatIsWritten) {
    Obstack obstack;
    std::vector<Numbered> objects;
    for (std::size_t size = 0; size < 2000; ++size) {
        void *const object = obstack.allocate(size);
        EXPECT_EQ(reap::padding_at(object, 16), 0U);
        objects.push_back(write(object, size, static_cast<unsigned char>(size % 251)));
    }
    for (const auto &object : objects) EXPECT_TRUE(object.holds());
}

TEST(Obstack, MeetsOrRefusesEachSizeAndAlignment) {
    StrictSource source;
    StrictObstack obstack{source, small};
    // Checked mode looks at each byte of what an alignment skips; the model goes further there.
    const std::size_t largest_alignment = std::size_t{1} << (reap::checked ? 15U : 21U);
    for (std::size_t alignment = 1; alignment <= largest_alignment; alignment *= 8) {
        for (unsigned power = 0; power <= 16; ++power) {
            for (const std::size_t size :
                 {std::size_t{0}, (std::size_t{1} << power) - 1, (std::size_t{1} << power) + 1}) {
                void *const object = obstack.try_allocate(size, alignment);
                ASSERT_NE(object, nullptr) << size << " at " << alignment;
                EXPECT_EQ(reap::padding_at(object, alignment), 0U);
                std::memset(object, 1, size);
            }
            obstack.reset();
        }
        for (std::size_t below = 0; below <= 4096; ++below)
            ASSERT_EQ(obstack.try_allocate(SIZE_MAX - below, alignment), nullptr);
        for (unsigned power = 40; power < 64; ++power) {
            EXPECT_EQ(obstack.try_allocate((std::size_t{1} << power) - 1, alignment), nullptr);
            EXPECT_EQ(obstack.try_allocate((std::size_t{1} << power) + 1, alignment), nullptr);
        }
    }
    for (const std::size_t alignment : {0U, 3U, 24U}) {
        EXPECT_EQ(obstack.try_allocate(8, alignment), nullptr);
        EXPECT_THROW((void)obstack.allocate(8, alignment), std::bad_alloc);
    }
    EXPECT_EQ(obstack.try_allocate(16, std::size_t{1} << 63U), nullptr);
    EXPECT_NE(obstack.try_allocate(16), nullptr);
}

// In GNU obstack and in Heap-Layers' ObstackHeap the sum of a size and of what is there already wraps, and
// SIZE_MAX - 20 bytes are "allocated".
TEST(Obstack, DoesNotWrapSizesAsGnuObstackAndHeapLayersDo) {
    StrictSource source;
    StrictObstack obstack{source, small};
    EXPECT_EQ(obstack.try_allocate(SIZE_MAX - 20), nullptr);
    EXPECT_THROW((void)obstack.allocate(SIZE_MAX - 20), std::bad_alloc);
    EXPECT_EQ(obstack.try_blank(SIZE_MAX - 20), nullptr);
    for (const std::size_t has : {1UL, 100UL, 10000UL}) {
        (void)obstack.blank(has);
        for (std::size_t below = 0; below <= 4096; ++below)
            ASSERT_EQ(obstack.try_blank(SIZE_MAX - below), nullptr);
        EXPECT_THROW((void)obstack.blank(SIZE_MAX - 20), std::bad_alloc);
        EXPECT_EQ(obstack.growing(), has);
        (void)obstack.finish();
    }
}

TEST(Obstack, FreesFromAnObjectOn) {
    StrictSource source;
    StrictObstack obstack{source, small};
    std::vector<Numbered> objects;
    objects.reserve(300);
    for (unsigned char number = 0; number < 200; ++number)
        objects.push_back(write(obstack.allocate(40), 40, number));
    EXPECT_GT(obstack.statistics().chunks, 3U);
    for (const unsigned keep : {199U, 198U, 100U, 50U, 0U}) {
        EXPECT_TRUE(obstack.free_from(objects[keep].data));
        objects.resize(keep);
        for (const auto &object : objects) ASSERT_TRUE(object.holds());
        for (unsigned char number = 0; number < 100; ++number)
            objects.push_back(write(obstack.allocate(40), 40, number));
    }
    obstack.reset(reap::keep_none);
    EXPECT_EQ(source.blocks(), 0U);
}

TEST(Obstack, RefusesToFreeFromWhatItDoesNotHold) {
    const MisuseLog log;
    Obstack obstack;
    Obstack other;
    int stranger = 0;
    EXPECT_FALSE(obstack.free_from(&stranger));
    void *const object = obstack.allocate(16);
    EXPECT_FALSE(obstack.free_from(&stranger));
    EXPECT_FALSE(obstack.free_from(other.allocate(16)));
    EXPECT_TRUE(obstack.free_from(nullptr));
    EXPECT_TRUE(obstack.free_from(object));
    EXPECT_FALSE(obstack.free_from(object));
    EXPECT_EQ(MisuseLog::take(), reap::checked ? Kinds({Misuse::foreign_free, Misuse::foreign_free,
                                                        Misuse::foreign_free, Misuse::double_free})
                                               : Kinds{});
}

TEST(Obstack, TakesTheLastObjectBack) {
    Obstack obstack;
    void *const first = obstack.allocate(100);
    void *const second = obstack.allocate(100);
    obstack.deallocate(second, 100);
    EXPECT_EQ(obstack.allocate(100), second);
    obstack.deallocate(first, 100);
    EXPECT_NE(obstack.allocate(100), first);
    obstack.deallocate(nullptr, 100);
}

TEST(Obstack, RunsTheDestructorsOfWhatItFrees) {
    std::string said;
    Obstack obstack(small);
    auto *const a = obstack.create<Speaker>(said, 'a');
    auto *const b = obstack.create<Speaker>(said, 'b');
    (void)obstack.create<int>(3);
    auto *const c = obstack.create<Speaker>(said, 'c');
    void *const after = obstack.allocate(8);
    EXPECT_TRUE(obstack.free_from(after));
    EXPECT_EQ(said, "");
    EXPECT_TRUE(obstack.free_from(c));
    EXPECT_EQ(said, "c");
    (void)obstack.create<Speaker>(said, 'd');
    for (int i = 0; i < 20; ++i) (void)obstack.allocate(100);
    (void)obstack.create<Speaker>(said, 'e');
    EXPECT_TRUE(obstack.free_from(b));
    EXPECT_EQ(said, "cedb");
    EXPECT_TRUE(obstack.free_from(a));
    EXPECT_EQ(said, "cedba");
    (void)obstack.create<Speaker>(said, 'f');
    obstack.reset();
    EXPECT_EQ(said, "cedbaf");
}

TEST(Obstack, RunsDestructorsInAllChunksThatItFrees) {
    std::string said;
    StrictSource source;
    StrictObstack obstack{source, small};
    (void)obstack.create<Speaker>(said, 'a');
    void *const first = obstack.allocate(40);
    for (char word = 'b'; word <= 'z'; ++word) (void)obstack.create<Speaker>(said, word);
    EXPECT_GT(obstack.statistics().chunks, 2U);
    EXPECT_TRUE(obstack.free_from(first));
    EXPECT_EQ(said, "zyxwvutsrqponmlkjihgfedcb");
}

TEST(Obstack, LeavesNothingWhenAConstructorThrows) {
    struct Thrower {
        Thrower() { throw std::runtime_error("no"); }
        std::string text;
    };
    Obstack obstack;
    (void)obstack.allocate(8);
    const auto before = obstack.statistics();
    EXPECT_THROW((void)obstack.create<Thrower>(), std::runtime_error);
    EXPECT_EQ(obstack.statistics().used, before.used);
}

TEST(Obstack, GrowsAnObjectByteByByte) {
    StrictSource source;
    StrictObstack obstack{source, small};
    const Numbered before = write(obstack.allocate(24), 24, 7);
    std::string wanted;
    for (int i = 0; i < 10000; ++i) {
        const auto byte = static_cast<char>(i % 127);
        obstack.push(byte);
        wanted += byte;
        ASSERT_EQ(obstack.growing(), wanted.size());
    }
    EXPECT_EQ(reap::padding_at(obstack.base(), 16), 0U);
    auto *const object = static_cast<char *>(obstack.finish());
    EXPECT_EQ(std::string(object, wanted.size()), wanted);
    EXPECT_EQ(obstack.base(), nullptr);
    (void)write(obstack.allocate(24), 24, 9);
    EXPECT_EQ(std::string(object, wanted.size()), wanted);
    EXPECT_TRUE(before.holds());
    EXPECT_TRUE(obstack.free_from(object));
    EXPECT_TRUE(before.holds());
}

TEST(Obstack, GrowsByAnySizeAndStaysWhereThereIsRoom) {
    Obstack obstack;
    EXPECT_EQ(obstack.room(), 0U);
    auto *const at = static_cast<char *>(obstack.blank(0));
    EXPECT_EQ(obstack.base(), nullptr);
    const std::size_t room = obstack.room();
    EXPECT_GT(room, 7000U);
    obstack.grow("abc", 3);
    obstack.grow(nullptr, 0);
    EXPECT_TRUE(obstack.try_grow("def", 4));
    obstack.push(0x0102030405060708);
    EXPECT_EQ(obstack.room(), room - 15);
    std::memset(obstack.blank(obstack.room()), 1, room - 15);
    EXPECT_EQ(obstack.base(), at);
    EXPECT_EQ(obstack.room(), 0U);
    obstack.push('x');
    EXPECT_NE(obstack.base(), at);
    auto *const object = static_cast<char *>(obstack.finish());
    EXPECT_STREQ(object, "abcdef");
    EXPECT_EQ(object[room], 'x');
}

TEST(Obstack, AllocatesNothingElseWhileAnObjectGrows) {
    Obstack obstack;
    auto *const before = obstack.allocate(16);
    obstack.push(1);
    EXPECT_EQ(obstack.try_allocate(8), nullptr);
    EXPECT_EQ(obstack.try_allocate(8, 64), nullptr);
    EXPECT_THROW((void)obstack.allocate(0), std::bad_alloc);
    obstack.deallocate(before, 16); // the last one is the one that grows
    EXPECT_EQ(obstack.growing(), sizeof(int));
    auto *const object = static_cast<int *>(obstack.finish());
    EXPECT_EQ(*object, 1);
    EXPECT_NE(obstack.try_allocate(8), nullptr);
}

TEST(Obstack, DropsAnObjectThatGrows) {
    Obstack obstack(small);
    void *const first = obstack.allocate(16);
    obstack.drop();
    obstack.push(1);
    void *const place = obstack.base();
    obstack.drop();
    EXPECT_EQ(obstack.base(), nullptr);
    EXPECT_EQ(obstack.blank(1), place);
    EXPECT_TRUE(obstack.free_from(first));
    EXPECT_EQ(obstack.base(), nullptr);
    EXPECT_EQ(obstack.allocate(16), first);
    std::memset(obstack.blank(10000), 1, 10000);
    obstack.reset();
    EXPECT_EQ(obstack.base(), nullptr);
}

TEST(Obstack, AllocatesAndFreesBetweenObjectsThatGrow) {
    Obstack obstack(small);
    for (int round = 0; round < 100; ++round) {
        obstack.grow("first", 6);
        auto *const first = static_cast<char *>(obstack.finish());
        obstack.grow("second", 7);
        auto *const second = static_cast<char *>(obstack.finish());
        obstack.deallocate(second, 7); // the last one
        auto *const third = static_cast<char *>(obstack.allocate(7));
        EXPECT_EQ(third, second);
        std::memcpy(third, "third.", 7);
        obstack.grow("fourth", 7);
        auto *const fourth = static_cast<char *>(obstack.finish());
        EXPECT_STREQ(first, "first");
        EXPECT_STREQ(third, "third.");
        EXPECT_TRUE(obstack.free_from(fourth));
        EXPECT_TRUE(obstack.free_from(third));
        EXPECT_STREQ(first, "first");
        EXPECT_EQ(obstack.allocate(7), third);
    }
}

TEST(Obstack, FinishesWhatWasNeverBegun) {
    Obstack obstack;
    void *const first = obstack.finish();
    (void)obstack.blank(0);
    void *const second = obstack.finish();
    void *const third = obstack.allocate(1);
    EXPECT_NE(first, second);
    EXPECT_NE(second, third);
}

TEST(Obstack, KeepsChunksAsAskedAndThoseForOneObjectNever) {
    StrictSource source;
    StrictObstack obstack{source, small};
    void *const first = obstack.allocate(16);
    for (int i = 0; i < 100; ++i) (void)obstack.allocate(100);
    const auto full = obstack.statistics();
    (void)obstack.allocate(10000);
    EXPECT_EQ(obstack.statistics().chunks, full.chunks + 1);
    EXPECT_TRUE(obstack.free_from(first));
    EXPECT_EQ(source.bytes(), full.held);
    EXPECT_EQ(obstack.statistics().spare, full.held - 256);
    obstack.trim(3000);
    EXPECT_LE(obstack.statistics().spare, 3000U);
    EXPECT_GT(obstack.statistics().spare, 0U);
    obstack.trim();
    EXPECT_EQ(obstack.statistics().held, 256U);
    obstack.reset();
    EXPECT_EQ(source.bytes(), 256U);
    obstack.reset(reap::keep_none);
    EXPECT_EQ(source.bytes(), 0U);
    (void)obstack.allocate(1);
    EXPECT_EQ(source.bytes(), 256U);
}

TEST(Obstack, KeepsToItsLimit) {
    Obstack obstack(ObstackOptions{.first_chunk = 1024, .limit = 10000});
    while (obstack.try_allocate(100) != nullptr) {
    }
    EXPECT_GT(obstack.statistics().held, 8000U);
    EXPECT_LE(obstack.statistics().held, 10000U);
    EXPECT_THROW((void)obstack.allocate(100), std::bad_alloc);
    EXPECT_EQ(obstack.try_blank(100000), nullptr);
    obstack.reset();
    EXPECT_NE(obstack.try_allocate(100), nullptr);
}

// Each sequence of twelve steps, a step being an allocation or freeing from one of the live objects.
TEST(Obstack, IsRightInEveryOrder) {
    constexpr std::size_t sizes[] = {1, 100, 16, 200, 40, 400, 0};
    StrictSource source;
    std::vector<unsigned> steps; // 0: allocate; k: free from the k-th live object
    std::size_t sequences = 0;
    const auto run = [&] {
        StrictObstack obstack{source, small};
        std::vector<Numbered> live;
        unsigned char number = 0;
        for (const unsigned step : steps) {
            if (step == 0) {
                const std::size_t size = sizes[number % 7];
                live.push_back(write(obstack.allocate(size), size, ++number));
            } else {
                ASSERT_TRUE(obstack.free_from(live[step - 1].data));
                live.resize(step - 1);
            }
            for (const auto &object : live) ASSERT_TRUE(object.holds());
        }
        ++sequences;
    };
    const auto extend = [&](const auto &self, unsigned live) -> void {
        if (steps.size() == 12) return run();
        for (unsigned step = 0; step <= live; ++step) {
            steps.push_back(step);
            self(self, step == 0 ? live + 1 : step - 1);
            steps.pop_back();
        }
    };
    extend(extend, 0);
    EXPECT_EQ(sequences, 15511U); // the twelfth Motzkin number
}

/// Allocates, grows, creates and frees, as the seed says; what must hold is looked at. Returns how many calls
/// were refused.
unsigned use(StrictObstack &obstack, unsigned seed, unsigned steps) {
    std::mt19937 random(seed);
    std::vector<Numbered> live;
    unsigned refused = 0;
    const auto below = [&](unsigned bound) { return static_cast<unsigned>(random() % bound); };
    for (unsigned step = 0; step < steps; ++step) {
        const auto number = static_cast<unsigned char>(step);
        const std::size_t size = below(10) == 0 ? below(5000) : below(100);
        const unsigned what = below(8);
        if (what < 4) {
            const std::size_t alignment = std::size_t{1} << below(9);
            if (void *const data = obstack.try_allocate(size, alignment); data == nullptr) {
                ++refused;
            } else {
                EXPECT_EQ(reap::padding_at(data, alignment), 0U);
                live.push_back(write(data, size, number));
            }
        } else if (what < 6) {
            std::size_t grown = 0;
            const std::vector<unsigned char> bytes(size, number);
            for (unsigned part = below(5); part > 0; --part) {
                if (obstack.try_grow(bytes.data(), size)) {
                    grown += size;
                } else {
                    ++refused;
                }
            }
            if (grown > 0 && below(4) != 0) {
                const Numbered object{static_cast<unsigned char *>(obstack.finish()), grown, number};
                EXPECT_TRUE(object.holds());
                live.push_back(object);
            } else {
                obstack.drop();
            }
        } else if (what == 6 && !live.empty()) {
            const std::size_t from =
                live.size() - 1 - below(static_cast<unsigned>(live.size())) / (1 + below(9));
            EXPECT_TRUE(live[from].holds());
            EXPECT_TRUE(obstack.free_from(live[from].data));
            live.resize(from);
        } else if (below(50) == 0) {
            for (const auto &object : live) EXPECT_TRUE(object.holds());
            obstack.reset(below(2) == 0 ? reap::keep_all : below(3000));
            live.clear();
        }
    }
    for (const auto &object : live) EXPECT_TRUE(object.holds());
    return refused;
}

TEST(Obstack, KeepsTheModelUnderRandomUse) {
    for (unsigned seed = 1; seed <= 20; ++seed) {
        SCOPED_TRACE(seed);
        StrictSource source;
        StrictObstack obstack{source, small};
        EXPECT_EQ(use(obstack, seed, 2000), 0U);
    }
}

TEST(Obstack, SurvivesEachFailureOfItsSource) {
    for (const std::size_t failures : {std::size_t{1}, SIZE_MAX}) {
        for (std::size_t good = 0;; ++good) {
            SCOPED_TRACE(good);
            StrictSource source;
            StrictObstack obstack{source, small};
            source.fail_after(good, failures);
            (void)use(obstack, 5, 400);
            const bool reached = source.calls() > good;
            source.fail_never();
            EXPECT_EQ(use(obstack, 6, 100), 0U);
            if (!reached) break;
        }
    }
}

TEST(Obstack, PassesOnWhatItsSourceThrows) {
    StrictSource source;
    StrictObstack obstack{source, small};
    source.fail_after(0);
    EXPECT_THROW((void)obstack.allocate(1), StrictFailure);
    EXPECT_THROW((void)obstack.blank(1), StrictFailure);
    EXPECT_THROW((void)obstack.finish(), StrictFailure);
    source.fail_never();
    obstack.grow("abc", 4);
    source.fail_after(0);
    EXPECT_THROW(obstack.grow(std::string(5000, 'x').data(), 5000), StrictFailure);
    EXPECT_STREQ(static_cast<char *>(obstack.finish()), "abc");
}

TEST(Obstack, PacksByItsGranule) {
    Obstack<reap::CachedPages, 1> bytes;
    auto *const first = static_cast<char *>(bytes.allocate(3));
    auto *const second = static_cast<char *>(bytes.allocate(5));
    if (!reap::checked) {
        EXPECT_EQ(second, first + 3);
    }
    bytes.grow("abc", 4);
    EXPECT_STREQ(static_cast<char *>(bytes.finish()), "abc");
    EXPECT_TRUE(bytes.free_from(second));
    EXPECT_EQ(bytes.allocate(7), second);
}

TEST(Obstack, StandsOnAnySourceAndIsOne) {
    static_assert(reap::Source<Obstack<>>);
    reap::ChunkCache<> cache;
    Obstack outer{cache};
    static_assert(std::is_same_v<decltype(outer), Obstack<reap::Ref<reap::ChunkCache<>>>>);
    Obstack<reap::Ref<decltype(outer)>> inner{outer};
    void *const object = inner.allocate(100);
    EXPECT_TRUE(inner.owns(object));
    EXPECT_TRUE(outer.owns(object));
}

class CheckedObstack : public testing::Test {
  protected:
    void SetUp() override {
        if (!reap::checked) GTEST_SKIP() << "only in checked mode";
    }
    unsigned char *allocate(std::size_t size) {
        return static_cast<unsigned char *>(obstack_.allocate(size));
    }

    MisuseLog log_;
    Obstack<> obstack_;
};

TEST_F(CheckedObstack, FindsWritesOutsideObjects) {
    auto *const first = allocate(40);
    auto *const second = allocate(40);
    write_anyway(second + 40, 1);
    EXPECT_FALSE(obstack_.free_from(second));
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::overflow});
    write_anyway(first - 1, 1);
    obstack_.reset();
    EXPECT_EQ(MisuseLog::take(), Kinds({Misuse::overflow, Misuse::underflow}));
}

TEST_F(CheckedObstack, FindsWritesToFreedObjects) {
    auto *const first = allocate(40);
    obstack_.deallocate(first, 40);
    write_anyway(first, 1);
    EXPECT_EQ(allocate(40), first);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::use_after_free});
    EXPECT_TRUE(obstack_.free_from(first));
    write_anyway(first + 3, 1);
    EXPECT_EQ(allocate(40), first);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::use_after_rewind});
    obstack_.reset();
    write_anyway(first + 3, 1);
    EXPECT_EQ(allocate(40), first);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::use_after_reset});
}

TEST_F(CheckedObstack, FindsWrongFrees) {
    auto *const first = allocate(40);
    auto *const second = allocate(40);
    obstack_.deallocate(second, 41);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::wrong_size});
    obstack_.deallocate(first, 40);
    obstack_.deallocate(first, 40);
    EXPECT_FALSE(obstack_.free_from(first));
    EXPECT_EQ(MisuseLog::take(), Kinds({Misuse::double_free, Misuse::double_free}));
    EXPECT_TRUE(obstack_.free_from(second));
    EXPECT_FALSE(obstack_.free_from(second));
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::double_free});
    int stranger = 0;
    obstack_.deallocate(&stranger, 4);
    EXPECT_FALSE(obstack_.free_from(allocate(40) + 8));
    EXPECT_EQ(MisuseLog::take(), Kinds({Misuse::foreign_free, Misuse::foreign_free}));
    auto *const large = allocate(20000);
    EXPECT_TRUE(obstack_.free_from(second)); // and large's chunk is kept
    obstack_.deallocate(large, 20000);
    EXPECT_FALSE(obstack_.free_from(large));
    EXPECT_EQ(MisuseLog::take(), Kinds({Misuse::double_free, Misuse::double_free}));
}

TEST_F(CheckedObstack, FindsWritesAroundAnObjectThatGrows) {
    obstack_.grow("abc", 3);
    auto *const base = static_cast<unsigned char *>(obstack_.base());
    write_anyway(base + 3, 1);
    obstack_.push('d');
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::overflow});
    std::memset(obstack_.blank(obstack_.room() + 1), 1, 1);
    write_anyway(base, 1); // it has moved
    obstack_.drop();
    obstack_.reset(reap::keep_none);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::use_after_free});
}

} // namespace
