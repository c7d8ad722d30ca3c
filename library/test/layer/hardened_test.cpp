// Hardened mode, in every layer that has it: what it notices, and how long freed blocks wait.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "misuse_log.h"
#include "reap/layer/fixed_block.h"
#include "reap/layer/mempool.h"
#include "reap/layer/per_class.h"
#include "reap/layer/per_thread.h"
#include "reap/layer/per_thread_reap.h"
#include "reap/layer/reap.h"
#include "reap/layer/region.h"
#include "reap/layer/size_class_allocator.h"
#include "speaker.h"
#include "watched.h"

namespace {

using reap::Misuse;
using Kinds = std::vector<Misuse>;

constexpr std::size_t waiting = REAP_QUARANTINE;
/// Allocations after which free blocks are used again: a reap first goes through 4 KB that are fresh.
constexpr int enough = 1000;

struct Object {
    std::array<std::uint64_t, 5> words;
};
/// Memory that is no layer's.
alignas(4096) std::byte stranger[3 * 4096];

/// A layer by what these tests need: objects of 40 bytes.
template <class Layer>
struct Of {
    Layer layer;
    void *take() { return layer.allocate(40); }
    void give(void *object) { layer.deallocate(object, 40); }
    void end() { layer.reset(); }
};
struct UnsizedReap {
    reap::Reap<> layer;
    void *take() { return layer.allocate(40); }
    void give(void *object) { layer.deallocate(object); }
    void end() { layer.reset(); }
};
template <class Layer>
struct OfBlocks {
    Layer layer{40};
    void *take() { return layer.allocate(); }
    void give(void *object) { layer.deallocate(object); }
    void end() { layer.reset(); }
};
struct OfOneClass {
    reap::PerClass<Object, reap::Region<>> layer; // which frees what the test does not
    void *take() { return layer.allocate(); }
    void give(void *object) { layer.deallocate(object); }
    void end() { layer.release(); }
};
struct OfPlaces {
    reap::Mempool<Object> layer;
    void *take() { return layer.allocate(); }
    void give(void *object) { layer.deallocate(static_cast<Object *>(object)); }
    void end() { layer.clear(); }
};
template <class Layer>
struct OfThreads {
    Layer layer;
    void *take() { return layer.allocate(40); }
    void give(void *object) { layer.deallocate(object); }
    void end() {}
};
struct BlocksOfThreads {
    reap::PerThread<reap::FixedBlock<>> layer{40};
    void *take() { return layer.allocate(); }
    void give(void *object) { layer.deallocate(object); }
    void end() { layer.reset(); }
};

template <class T>
class Hardened : public ::testing::Test {
  protected:
    MisuseLog log_; // before the layer: its end reports as well
    T of_;
};
using Layers =
    ::testing::Types<Of<reap::Reap<>>, UnsizedReap, Of<reap::SizedReap<>>, OfBlocks<reap::FixedBlock<>>,
                     Of<reap::SizeClassAllocator<>>, OfOneClass, OfPlaces, OfThreads<reap::OwnedReap<>>,
                     OfThreads<reap::PerThreadReap<>>, BlocksOfThreads>;
TYPED_TEST_SUITE(Hardened, Layers);

TYPED_TEST(Hardened, KeepsWhatIsFreedBack) {
    auto &of = this->of_;
    std::vector<void *> objects(3 * waiting);
    for (void *&object : objects) object = of.take();
    for (void *object : objects) {
        of.give(object);
        // At most those that were freed `waiting` frees ago come again.
        void *const next = of.take();
        EXPECT_NE(next, object);
        std::replace(objects.begin(), objects.end(), object, next);
    }
    EXPECT_EQ(std::set<void *>(objects.begin(), objects.end()).size(), objects.size());
    for (void *object : objects) of.give(object);
    const std::set<void *> last(objects.end() - static_cast<std::ptrdiff_t>(waiting), objects.end());
    for (std::size_t number = 0; number < objects.size(); ++number) EXPECT_FALSE(last.contains(of.take()));
    EXPECT_EQ(MisuseLog::take(), Kinds{});
}

TYPED_TEST(Hardened, FindsADoubleFree) {
    auto &of = this->of_;
    for (const std::size_t between : {std::size_t{0}, std::size_t{1}, waiting, 3 * waiting}) {
        std::vector<void *> objects(between + 2);
        for (void *&object : objects) object = of.take();
        of.give(objects.front());
        for (std::size_t number = 1; number <= between; ++number) of.give(objects[number]);
        of.give(objects.front());
        EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::double_free}) << between;
        // Nothing was done: nobody gets an object that another one has.
        std::set<void *> all{objects.back()};
        for (std::size_t number = 0; number < 4 * waiting; ++number)
            EXPECT_TRUE(all.insert(of.take()).second);
    }
    EXPECT_EQ(MisuseLog::take(), Kinds{});
}

TYPED_TEST(Hardened, FindsTheFreeOfWhatIsNoneOfIts) {
    auto &of = this->of_;
    void *const object = of.take();
    of.give(stranger + 4096 + 320);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::foreign_free});
    of.give(object);
    of.give(stranger + 4096 + 320);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::foreign_free});
    of.give(nullptr);
    EXPECT_EQ(MisuseLog::take(), Kinds{});
}

TYPED_TEST(Hardened, FindsAWriteToAFreedObject) {
    auto &of = this->of_;
    for (const std::size_t between : {std::size_t{0}, waiting, 2 * waiting}) {
        std::vector<void *> objects(3 * waiting);
        for (void *&object : objects) object = of.take();
        of.give(objects.front());
        for (std::size_t number = 1; number <= between; ++number) of.give(objects[number]);
        std::memset(objects.front(), 0x5A, 8);
        for (std::size_t number = between + 1; number < objects.size(); ++number) of.give(objects[number]);
        for (int number = 0; number < enough; ++number) EXPECT_NE(of.take(), objects.front()) << between;
        EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::use_after_free}) << between;
    }
}

TYPED_TEST(Hardened, LooksAtWhatWaitsWhenAllEnds) {
    if (std::is_same_v<TypeParam, OfThreads<reap::OwnedReap<>>> ||
        std::is_same_v<TypeParam, OfThreads<reap::PerThreadReap<>>>)
        GTEST_SKIP() << "its end is the test's";
    void *const object = this->of_.take();
    this->of_.give(object);
    std::memset(object, 0, 8);
    this->of_.end();
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::use_after_free});
}

TYPED_TEST(Hardened, FollowsNoLinkThatTheProgramMade) {
    auto &of = this->of_;
    std::vector<void *> objects(4 * waiting);
    for (void *&object : objects) object = of.take();
    for (void *object : objects) of.give(object);
    void *const forged = stranger + 4096;
    for (void *object : objects) std::memcpy(object, static_cast<const void *>(&forged), sizeof forged);
    for (int number = 0; number < enough; ++number) {
        const auto at =
            reinterpret_cast<std::uintptr_t>(of.take()) - reinterpret_cast<std::uintptr_t>(stranger);
        EXPECT_GE(at, sizeof stranger);
    }
    EXPECT_FALSE(MisuseLog::take().empty());
}

TYPED_TEST(Hardened, LeavesNoAddressInWhatItHandsOutAgain) {
    auto &of = this->of_;
    std::vector<void *> objects(4 * waiting);
    for (void *&object : objects) object = of.take();
    for (void *object : objects) of.give(object);
    const std::set<void *> freed(objects.begin(), objects.end());
    for (int number = 0; number < enough; ++number) {
        void *const object = of.take();
        std::uint64_t first = 0;
        std::memcpy(&first, object, sizeof first);
        EXPECT_TRUE(first == 0U || !freed.contains(object)); // else it was never freed
    }
}

TEST(HardenedReap, FindsAWrongSize) {
    const MisuseLog log;
    reap::Reap reap;
    for (const std::size_t size :
         {std::size_t{40}, std::size_t{900}, std::size_t{5000}, std::size_t{1} << 20}) {
        void *const object = reap.allocate(size);
        (void)reap.allocate(40);
        reap.deallocate(object, size + 64);
        EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::wrong_size}) << size;
        reap.deallocate(object, size / 2);
        EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::wrong_size}) << size;
        reap.deallocate(object, size);
        EXPECT_EQ(MisuseLog::take(), Kinds{}) << size;
    }
    EXPECT_TRUE(reap.check());
}

TEST(HardenedReap, FindsADoubleFreeOfAnySizeAndUnderAMark) {
    const MisuseLog log;
    for (const bool marked : {false, true}) {
        for (const std::size_t size :
             {std::size_t{16}, std::size_t{1016}, std::size_t{5000}, std::size_t{100000}}) {
            reap::Reap reap;
            reap::SizedReap sized;
            void *const object = reap.allocate(size);
            void *const other = sized.allocate(size);
            (void)reap.allocate(16);
            (void)sized.allocate(16);
            if (marked) (void)reap.mark();
            if (marked) (void)sized.mark();
            for (int twice = 0; twice < 2; ++twice) {
                reap.deallocate(object);
                sized.deallocate(other, size);
            }
            EXPECT_EQ(MisuseLog::take(), (Kinds{Misuse::double_free, Misuse::double_free})) << size;
            EXPECT_TRUE(reap.check());
            EXPECT_TRUE(sized.check());
        }
    }
}

TEST(HardenedReap, FindsTheFreeOfALargeObjectThatIsNone) {
    const MisuseLog log;
    reap::Reap reap;
    void *const one = reap.allocate(3 << 20);
    void *const two = reap.allocate(3 << 20);
    reap.deallocate(one);
    reap.deallocate(static_cast<std::byte *>(two) + (std::size_t{2} << 20) - 1024);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::foreign_free});
    reap.deallocate(two);
    EXPECT_EQ(MisuseLog::take(), Kinds{});
}

TEST(HardenedReap, EndsADestroyedObjectNoMore) {
    const MisuseLog log;
    reap::Reap reap;
    std::string said;
    Speaker *const speaker = reap.create<Speaker>(said, 'a');
    reap.destroy(speaker);
    reap.destroy(speaker);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::double_free});
    EXPECT_EQ(said, "a");
}

TEST(HardenedReap, RunsNoDestructorOfAnObjectThatWasFreed) {
    const MisuseLog log;
    std::string said;
    {
        reap::Reap<> reap;
        Speaker *const object = reap.create<Speaker>(said, 'a');
        Speaker *const first = reap.create_array<Speaker>(3, said, 'b');
        reap.deallocate(first);
        reap.deallocate(object);
        EXPECT_EQ(MisuseLog::take(), Kinds{});
        reap.reset();
        EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::skipped_destructor});
        EXPECT_EQ(said, "");
        EXPECT_NE(reap.create<Speaker>(said, 'c'), nullptr); // it goes on
    }
    EXPECT_EQ(said, "c");
    EXPECT_EQ(MisuseLog::take(), Kinds{});
}

TEST(HardenedReap, CallsNoAddressThatTheProgramWrote) {
    const MisuseLog log;
    std::string said;
    reap::Reap<> reap;
    Speaker *const older = reap.create<Speaker>(said, 'o');
    Speaker *const newer = reap.create<Speaker>(said, 'n');
    // All that lies between them, as a loop would that runs beyond the object.
    const auto distance = reinterpret_cast<std::byte *>(newer) - reinterpret_cast<std::byte *>(older);
    for (auto at = std::ptrdiff_t{sizeof(Speaker)}; at < distance; ++at)
        write_anyway(reinterpret_cast<std::byte *>(older) + at, 0x41);
    reap.destroy(newer);
    EXPECT_EQ(said, "n");
    reap.destroy(older);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::corruption});
    reap.reset();
    EXPECT_EQ(said, "n");
    EXPECT_EQ(MisuseLog::take(), Kinds{});
}

TEST(HardenedReap, ResizesNothingThatIsFree) {
    const MisuseLog log;
    reap::Reap reap;
    void *const object = reap.allocate(100);
    (void)reap.allocate(100);
    reap.deallocate(object);
    EXPECT_FALSE(reap.resize(object, 50));
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::double_free});
    EXPECT_NE(reap.reallocate(object, 100), object);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::double_free});
    EXPECT_TRUE(reap.check());
}

TEST(HardenedReap, KeepsBackWhatASweepWouldMerge) {
    const MisuseLog log;
    reap::Reap reap;
    std::vector<void *> objects(20000);
    for (void *&object : objects) object = reap.allocate(64);
    for (void *object : objects) reap.deallocate(object);
    const std::set<void *> last(objects.end() - static_cast<std::ptrdiff_t>(waiting), objects.end());
    const std::size_t held = reap.held();
    for (std::size_t taken = 0; taken < held / 4; taken += 500) // which has to be made of merged blocks
        EXPECT_FALSE(last.contains(reap.allocate(500)));
    EXPECT_LE(reap.held(), held + held / 8);
    EXPECT_TRUE(reap.check());
    EXPECT_EQ(MisuseLog::take(), Kinds{});
}

TEST(HardenedReap, GivesAllBackAtATrim) {
    reap::Reap reap;
    std::vector<void *> objects(20000);
    for (void *&object : objects) object = reap.allocate(64);
    for (void *object : objects) reap.deallocate(object);
    reap.trim();
    EXPECT_LE(reap.statistics().chunks, 1U);
    EXPECT_EQ(reap.statistics().live, 0U);
}

TEST(HardenedReap, UsesWhatWaitsBeforeItRefuses) {
    const MisuseLog log;
    reap::Reap reap({.limit = 8192});
    std::vector<void *> objects;
    while (void *const object = reap.try_allocate(64)) objects.push_back(object);
    for (std::size_t number = 0; number < 3; ++number) reap.deallocate(objects[number]);
    for (std::size_t number = 0; number < 3; ++number) EXPECT_NE(reap.try_allocate(64), nullptr);
    EXPECT_EQ(reap.try_allocate(64), nullptr);
    EXPECT_EQ(MisuseLog::take(), Kinds{});
}

TEST(HardenedReap, ChecksWhatWaits) {
    const MisuseLog log;
    reap::Reap reap;
    void *const object = reap.allocate(64);
    (void)reap.allocate(64);
    reap.deallocate(object);
    EXPECT_TRUE(reap.check());
    std::memset(object, 0, 1);
    EXPECT_FALSE(reap.check());
    EXPECT_EQ(MisuseLog::take().front(), Misuse::use_after_free);
}

TEST(HardenedBlocks, FindTheFreeOfAnAddressInsideABlock) {
    const MisuseLog log;
    reap::FixedBlock<> blocks(48);
    auto *const block = static_cast<std::byte *>(blocks.allocate());
    for (const std::ptrdiff_t off : {1, 8, 47}) {
        blocks.deallocate(block + off);
        EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::interior_free}) << off;
    }
    blocks.deallocate(block + 48); // one that was never allocated
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::double_free});
    blocks.deallocate(block, 49, 8);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::wrong_size});
    blocks.deallocate(block);
    EXPECT_EQ(MisuseLog::take(), Kinds{});
}

TEST(HardenedBlocks, FindTheFreeOfABlockOfBeforeTheReset) {
    const MisuseLog log;
    reap::FixedBlock<> blocks(64);
    std::vector<void *> all(1000);
    for (void *&block : all) block = blocks.allocate();
    blocks.reset();
    blocks.deallocate(all.front());
    EXPECT_EQ(MisuseLog::take().size(), 1U);
    std::set<void *> seen;
    for (std::size_t number = 0; number < all.size(); ++number)
        EXPECT_TRUE(seen.insert(blocks.allocate()).second);
}

TEST(HardenedBlocks, KnowTheClassesOfOneAnother) {
    const MisuseLog log;
    reap::SizeClassAllocator<> classes;
    void *const object = classes.allocate(30);
    classes.deallocate(object, 200);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::wrong_size});
    classes.deallocate(object, 5000);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::wrong_size});
    reap::PerThread<reap::SizeClassAllocator<>> each;
    void *const other = each.allocate(30);
    each.deallocate(other, 200);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::wrong_size});
    classes.deallocate(other, 30);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::foreign_free});
}

TEST(HardenedThreads, FindADoubleFreeOfAnotherThread) {
    const MisuseLog log;
    reap::OwnedReap<> reap;
    void *const object = reap.allocate(40);
    void *const other = reap.allocate(40);
    std::thread([=] {
        reap::OwnedReap<>::deallocate(object);
        reap::OwnedReap<>::deallocate(other);
        reap::OwnedReap<>::deallocate(object);
    }).join();
    reap.trim(); // takes back what was freed
    EXPECT_EQ(MisuseLog::take().front(), Misuse::double_free);
    EXPECT_TRUE(reap.check());
    reap::PerThread<reap::FixedBlock<>> blocks(64);
    void *const block = blocks.allocate();
    std::thread([&] {
        blocks.deallocate(block);
        blocks.deallocate(block);
    }).join();
    std::set<void *> seen;
    for (int number = 0; number < 500; ++number) EXPECT_TRUE(seen.insert(blocks.allocate()).second);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::double_free});
}

TEST(HardenedThreads, FindADoubleFreeAfterTheOwnersEnd) {
    const MisuseLog log;
    auto reap = reap::OwnedReap<>::make();
    void *const object = reap->allocate(40);
    void *const last = reap->allocate(40);
    reap::OwnedReap<>::abandon(std::move(reap));
    reap::OwnedReap<>::deallocate(object);
    reap::OwnedReap<>::deallocate(object);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::double_free});
    std::memset(last, 1, 40); // is still there
    reap::OwnedReap<>::deallocate(last);
    EXPECT_EQ(MisuseLog::take(), Kinds{});
}

} // namespace
