#include "reap/layer/region_emulator.h"

#include <cstddef>
#include <cstring>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <vector>

#include "misuse_log.h"
#include "speaker.h"
#include "strict_source.h"

namespace {

using reap::Misuse;
using reap::Ref;
using reap::RegionEmulator;
using Kinds = std::vector<Misuse>;
using Emulator = RegionEmulator<Ref<StrictSource>>;

static_assert(!std::is_copy_constructible_v<RegionEmulator<>> &&
              !std::is_move_constructible_v<RegionEmulator<>>);

/// One that has made another in the same region.
struct Pair : Speaker {
    Pair(std::string &said, char word, Emulator &region) : Speaker(said, word) {
        (void)region.create<Speaker>(said, static_cast<char>(word + 1));
    }
};
struct ThrowsAfterAnother {
    ThrowsAfterAnother(std::string &said, Emulator &region) {
        (void)region.create<Speaker>(said, 't');
        throw std::runtime_error("no");
    }
    ~ThrowsAfterAnother() = default;
    std::string not_trivial;
};

TEST(RegionEmulator, AsksItsSourceForEachObject) {
    StrictSource source;
    {
        Emulator region{Ref{source}};
        for (std::size_t size = 0; size < 100; ++size) std::memset(region.allocate(size), 1, size);
        // The objects, and the record of them: 64 at first, then 128.
        EXPECT_EQ(source.blocks(), 101U);
        EXPECT_EQ(region.statistics().objects, 100U);
        EXPECT_GE(region.statistics().records, 100 * sizeof(void *));
        region.reset();
        EXPECT_EQ(source.blocks(), 1U);
        EXPECT_EQ(region.statistics().objects, 0U);
    }
    EXPECT_EQ(source.blocks(), 0U);
}

TEST(RegionEmulator, RemembersMallocsObjectsByTheirAddressAlone) {
    if (reap::checked) GTEST_SKIP() << "checked mode wants to know the sizes";
    RegionEmulator<> region;
    for (int turn = 0; turn < 64; ++turn) (void)region.allocate(1000, turn % 2 == 0 ? 8 : 256);
    EXPECT_EQ(region.statistics().records, 64 * sizeof(void *));
}

TEST(RegionEmulator, TakesNoObjectBackAloneButTheLast) {
    StrictSource source;
    Emulator region{Ref{source}};
    void *const first = region.allocate(10);
    void *const second = region.allocate(20);
    region.deallocate(first, 10);
    EXPECT_EQ(region.statistics().objects, 2U);
    region.deallocate(second, 20);
    EXPECT_EQ(region.statistics().objects, 1U);
    region.deallocate(first, 10);
    region.deallocate(nullptr, 10);
    EXPECT_EQ(region.statistics().objects, 0U);
}

TEST(RegionEmulator, FreesAnObjectAndAllYounger) {
    StrictSource source;
    Emulator region{Ref{source}};
    std::string said;
    (void)region.create<Speaker>(said, 'a');
    void *const middle = region.allocate(10);
    (void)region.create<Speaker>(said, 'b');
    (void)region.create<Speaker>(said, 'c');
    EXPECT_TRUE(region.free_from(middle));
    EXPECT_EQ(said, "cb");
    EXPECT_EQ(region.statistics().objects, 1U);
    EXPECT_EQ(source.blocks(), 3U) << "an object, its record, and its cleanup";
    region.reset();
    EXPECT_EQ(said, "cba");
}

TEST(RegionEmulator, DestroysWhatAConstructorCreated) {
    StrictSource source;
    std::string said;
    {
        Emulator region{Ref{source}};
        // More than there is room for at first: a constructor makes the room grow.
        for (int turn = 0; turn < 100; ++turn) (void)region.create<Pair>(said, 'a', region);
        EXPECT_EQ(region.statistics().objects, 200U);
    }
    // The inner one is the younger object, though the outer one's constructor ends later.
    std::string expected;
    for (int turn = 0; turn < 100; ++turn) expected += "ba";
    EXPECT_EQ(said, expected);
    EXPECT_EQ(source.blocks(), 0U);
}

TEST(RegionEmulator, LeavesNothingWhenAConstructorThrows) {
    StrictSource source;
    std::string said;
    Emulator region{Ref{source}};
    (void)region.allocate(1);
    EXPECT_THROW((void)region.create<ThrowsAfterAnother>(said, region), std::runtime_error);
    EXPECT_EQ(said, "t");
    EXPECT_EQ(region.statistics().objects, 1U);
    region.reset();
    EXPECT_EQ(said, "t");
}

TEST(RegionEmulator, EndsNestedOnesWithItself) {
    StrictSource source;
    std::string said;
    {
        Emulator region{Ref{source}};
        auto &child = region.nest();
        auto &grandchild = child.nest();
        (void)region.create<Speaker>(said, 'r');
        (void)grandchild.create<Speaker>(said, 'g');
        (void)child.create<Speaker>(said, 'c');
        child.reset();
        EXPECT_EQ(said, "cg");
        (void)child.create<Speaker>(said, 'd');
    }
    EXPECT_EQ(said, "cgrd");
    EXPECT_EQ(source.blocks(), 0U);
}

TEST(RegionEmulator, FreesWhatADestructorAllocates) {
    struct Late {
        explicit Late(Emulator &region) : region_(region) {}
        Late(const Late &) = delete;
        Late &operator=(const Late &) = delete;
        ~Late() { (void)region_.allocate(100); }
        Emulator &region_;
    };
    StrictSource source;
    Emulator region{Ref{source}};
    (void)region.allocate(1);
    void *const late = region.create<Late>(region);
    EXPECT_TRUE(region.free_from(late));
    EXPECT_EQ(region.statistics().objects, 1U);
}

TEST(RegionEmulator, RunsAllDestructorsBeforeItFrees) {
    struct Looks {
        Looks(StrictSource &memory, std::size_t &blocks) : source(memory), seen(blocks) {}
        Looks(const Looks &) = delete;
        Looks &operator=(const Looks &) = delete;
        ~Looks() { seen = source.blocks(); }
        StrictSource &source;
        std::size_t &seen;
    };
    StrictSource source;
    std::size_t seen = 0;
    Emulator region{Ref{source}};
    (void)region.create<Looks>(source, seen);
    (void)region.allocate(100);
    const std::size_t blocks = source.blocks();
    region.reset();
    EXPECT_EQ(seen, blocks) << "a younger object may be what its destructor frees";
}

TEST(RegionEmulator, FindsMisuse) {
    if (!reap::checked) GTEST_SKIP() << "only in checked mode";
    const MisuseLog log;
    StrictSource source;
    Emulator region{Ref{source}};
    auto *const object = static_cast<std::byte *>(region.allocate(40));
    int stranger = 0;
    EXPECT_FALSE(region.free_from(&stranger));
    region.deallocate(&stranger, 4);
    region.deallocate(object, 41);
    EXPECT_EQ(MisuseLog::take(), (Kinds{Misuse::foreign_free, Misuse::foreign_free, Misuse::wrong_size}));
    write_anyway(object + 40, 1);
    region.reset();
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::overflow});
}

} // namespace
