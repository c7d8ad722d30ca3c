#include <cstddef>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <sys/mman.h>
#include <vector>

#include "cases.h"
#include "reap/layer/region.h"
#include "reap/source/system_pages.h"
#include "reap/testkit/failing_source.h"
#include "reap/testkit/subject.h"

// Faults that were found in other allocators, each by the name of what went wrong there, looked for in every
// case here. Double frees that hand a block out twice are among the misuse matrix's, free orders that break a
// debug build among the sweeps'.

namespace {

using reap::test::Case;
using reap::testkit::FailingSource;

class FaultOfPeers : public testing::TestWithParam<Case> {
  protected:
    /// Allocates what is freed when the test ends, unless the subject does that itself.
    void *take(std::size_t size, std::size_t alignment) {
        void *const data = subject_->allocate(size, alignment).data;
        if (data != nullptr && !subject_->abilities().resets) taken_.push_back({data, size, alignment});
        return data;
    }
    void TearDown() override {
        for (const auto &one : taken_) subject_->deallocate(one.data, one.size, one.alignment);
    }

    FailingSource<> upstream_;
    std::unique_ptr<reap::testkit::AnySubject> subject_ = GetParam().make(upstream_);
    const reap::testkit::Limits limits_ = subject_->limits();

  private:
    struct Taken {
        void *data;
        std::size_t size;
        std::size_t alignment;
    };
    std::vector<Taken> taken_;
};

// foonathan/memory: memory_stack::allocate(SIZE_MAX - 15, 64) returned a pointer; Heap-Layers: ZoneHeap for
// SIZE_MAX - 3, ObstackHeap for SIZE_MAX - 20; protobuf #761; rapidjson #607.
TEST_P(FaultOfPeers, SizeWrapsToASmallOne) {
    for (const std::size_t below : {0U, 3U, 15U, 20U, 63U, 4095U}) {
        for (const std::size_t alignment : {1U, 16U, 64U, 4096U})
            EXPECT_EQ(subject_->allocate(SIZE_MAX - below, alignment).data, nullptr)
                << below << " " << alignment;
    }
}

// boost::object_pool of a type with alignas(64): 100 of 100 misaligned. foonathan #64 and #171, db25 #27: the
// offset was aligned, and not the address.
TEST_P(FaultOfPeers, OffsetIsAlignedAndNotTheAddress) {
    const std::size_t alignment = std::min<std::size_t>(64, limits_.largest_alignment);
    const std::size_t size = std::clamp<std::size_t>(64, limits_.smallest, limits_.largest);
    for (int number = 0; number < 100; ++number) {
        void *const data = take(size, alignment);
        if (data == nullptr) {
            EXPECT_TRUE(subject_->may_refuse(size, alignment));
            break;
        }
        EXPECT_EQ(reap::padding_at(data, alignment), 0U);
        (void)take(std::max<std::size_t>(1, limits_.smallest), 1);
    }
}

// libstdc++ 12: unsynchronized_pool_resource crashes where its upstream throws on the third call.
TEST_P(FaultOfPeers, UpstreamThrowsOnTheThirdCall) {
    upstream_.fail_once(2);
    const std::size_t size = std::clamp<std::size_t>(3000, limits_.smallest, limits_.largest);
    const std::size_t alignment = std::min<std::size_t>(16, limits_.largest_alignment);
    for (int number = 0; number < 100; ++number) {
        bool threw = false;
        const auto got = subject_->allocate_or_throw(size, alignment, threw);
        if (got.data == nullptr) continue;
        std::memset(got.data, 1, size);
        if (!subject_->abilities().resets) subject_->deallocate(got.data, size, alignment);
    }
    upstream_.succeed();
    subject_->reset();
    EXPECT_TRUE(take(size, alignment) != nullptr || subject_->may_refuse(size, alignment));
}

// bumpalo #314 and #322: what is held grows from round to round though the rounds are the same.
TEST_P(FaultOfPeers, RunawayGrowth) {
    // The cases keep more or less at a reset by turns.
    constexpr int rounds = reap::test::brief ? 100 : 400;
    if (!subject_->abilities().resets || !GetParam().fails_with_upstream) GTEST_SKIP() << "has no reset";
    std::size_t after_some = 0;
    for (int round = 0; round < rounds; ++round) {
        for (std::size_t number = 1; number < 200; ++number) {
            const std::size_t size = std::clamp(number * 37 % 1000, limits_.smallest, limits_.largest);
            (void)subject_->allocate(size, std::min<std::size_t>(8, limits_.largest_alignment));
        }
        subject_->reset();
        if (round == rounds / 4 - 1) after_some = upstream_.peak_bytes();
    }
    EXPECT_LE(upstream_.peak_bytes(), after_some + after_some / 4);
}

// foundationdb #2768, sanitizers #182 and #191: poison that outlives what it was for. The source under each
// case looks at what comes back; nothing of it may be closed.
TEST_P(FaultOfPeers, PoisonOutlivesTheMemory) {
    for (std::size_t number = 1; number < 200; ++number) {
        const std::size_t size = std::clamp(number * 37 % 9000, limits_.smallest, limits_.largest);
        void *const data = subject_->allocate(size, std::min<std::size_t>(8, limits_.largest_alignment)).data;
        if (data != nullptr && (number % 3 == 0 || !subject_->abilities().resets))
            subject_->deallocate(data, size, std::min<std::size_t>(8, limits_.largest_alignment));
    }
    subject_.reset();
    EXPECT_EQ(upstream_.complaint(), "");
}

INSTANTIATE_TEST_SUITE_P(Cases, FaultOfPeers, testing::ValuesIn(reap::test::all_cases()),
                         reap::test::name_of);

TEST(FaultOfPeersInPages, PoisonSurvivesMunmap) {
    void *place = nullptr;
    {
        reap::Region<reap::SystemPages> region;
        place = region.allocate(100);
        region.reset(reap::keep_none);
    }
    auto *const page =
        reinterpret_cast<void *>(reinterpret_cast<std::uintptr_t>(place) & ~std::uintptr_t{4095});
    auto *const again = static_cast<volatile unsigned char *>(
        ::mmap(page, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0));
    ASSERT_NE(again, MAP_FAILED);
    for (std::size_t at = 0; at < 8192; ++at) EXPECT_EQ(again[at], 0);
    ::munmap(page, 8192);
}

// bumpalo #26, #61, #305, protobuf #5562: a reset gives the chunks away, and each request asks for them
// again.
TEST(FaultOfPeersInRegions, ResetFreesTheChunks) {
    FailingSource<> upstream;
    reap::Region<reap::Ref<FailingSource<>>> region(upstream);
    for (int number = 0; number < 1000; ++number) (void)region.allocate(100);
    region.reset();
    upstream.fail_from(0);
    for (int number = 0; number < 1000; ++number) (void)region.allocate(100);
    EXPECT_EQ(upstream.failures(), 0U);
}

// onnxruntime #7284, ghostty #13245: the opposite, what was held once is held for ever.
TEST(FaultOfPeersInRegions, ResetKeepsTheChunksForEver) {
    FailingSource<> upstream;
    reap::Region<reap::Ref<FailingSource<>>> region(upstream);
    for (int number = 0; number < 1000; ++number) (void)region.allocate(100);
    region.reset(std::size_t{20} << 10);
    EXPECT_LE(upstream.outstanding_bytes(), std::size_t{20} << 10);
    region.reset(reap::keep_none);
    EXPECT_EQ(upstream.outstanding(), 0U);
}

} // namespace
