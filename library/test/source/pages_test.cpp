#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

#include "reap/source/huge_pages.h"
#include "reap/source/node_pages.h"
#include "reap/source/populated_pages.h"
#include "sandbox.h"
#include "source_contract.h"
#include "strict_source.h"

namespace {

using reap::HugePages;
using reap::NodePages;
using reap::PopulatedPages;
using reap::SystemPages;
constexpr std::size_t huge = HugePages::page;

/// How many pages of this memory are backed.
std::size_t resident(void *data, std::size_t size) {
    std::vector<unsigned char> pages((size + 4095) / 4096);
    EXPECT_EQ(::mincore(data, size, pages.data()), 0);
    std::size_t found = 0;
    for (const unsigned char flags : pages) found += flags & 1U;
    return found;
}

int fallbacks = 0;
reap::PageFallback last_fallback;
void note(const reap::PageFallback &fallback) noexcept {
    ++fallbacks;
    last_fallback = fallback;
}

TEST(SystemPages, GrowAndShrinkWithWhatIsInThem) {
    constexpr std::size_t alignment = std::size_t{2} << 20;
    auto *data = static_cast<char *>(SystemPages::try_allocate(5000, alignment));
    std::strcpy(data, "what is in them");
    std::size_t before = 5000;
    // What lies behind is taken, so that it has to move.
    void *const neighbour =
        ::mmap(data + 8192, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    for (const std::size_t size : {8192U, 100000U, 10000000U, 20000U, 1U}) {
        data = static_cast<char *>(SystemPages::try_resize(data, before, size, alignment));
        ASSERT_NE(data, nullptr);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % alignment, 0U);
        EXPECT_STREQ(data, "what is in them");
        data[size - 1] = data[size - 1];
        before = size;
    }
    EXPECT_EQ(SystemPages::try_resize(data, before, SIZE_MAX / 2, alignment), nullptr);
    EXPECT_STREQ(data, "what is in them");
    SystemPages::deallocate(data, before, alignment);
    if (neighbour != MAP_FAILED) ::munmap(neighbour, 4096);
}

TEST(PopulatedPages, AreThereBeforeTheyAreTouched) {
    constexpr std::size_t size = std::size_t{64} * 4096;
    const auto plain = SystemPages::try_allocate_at_least(size, 16);
    EXPECT_EQ(resident(plain.data, plain.size), 0U);
    SystemPages::deallocate(plain.data, plain.size, 16);

    PopulatedPages<> pages;
    const auto got = pages.try_allocate_at_least(size - 100, 16);
    ASSERT_NE(got.data, nullptr);
    EXPECT_EQ(got.size, size);
    EXPECT_EQ(resident(got.data, got.size), 64U);
    EXPECT_EQ(*static_cast<unsigned char *>(got.data), 0);
    pages.deallocate(got.data, size - 100, 16);
    EXPECT_EQ(PopulatedPages<>(), pages);
}

TEST(PopulatedPages, KeepTheContract) {
    PopulatedPages<> pages;
    expect_boundaries(pages, 1U << 16U, huge);
    expect_at_least(pages, 100000);
    expect_separate(pages, 1);
    expect_region(pages, 200000);
}

TEST(PopulatedPages, FailWhereTheirSourceDoesAndLoseNothing) {
    StrictSource source;
    PopulatedPages pages(source);
    for (std::size_t good = 0; good < 3; ++good) {
        source.fail_after(good, 1);
        std::size_t failures = 0;
        for (int i = 0; i < 4; ++i) failures += serves(pages, 5000, 64) ? 0 : 1;
        EXPECT_EQ(failures, 1U);
    }
}

/// Allocates one piece of memory, whatever is requested.
struct Given {
    void *memory = nullptr;
    int out = 0;
    void *try_allocate(std::size_t /*size*/, std::size_t /*alignment*/) noexcept {
        ++out;
        return memory;
    }
    void deallocate(void * /*data*/, std::size_t /*size*/, std::size_t /*alignment*/) noexcept { --out; }
};

TEST(PopulatedPages, FailWhereThereIsNoMemoryForThem) {
    // A file with nothing in it, mapped: the kernel has no memory to put there.
    constexpr std::size_t size = 8192;
    const int file = ::memfd_create("empty", MFD_CLOEXEC);
    ASSERT_GE(file, 0);
    Given given{::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)};
    ASSERT_NE(given.memory, MAP_FAILED);
    const reap::Ref<Given> source(given);
    PopulatedPages<reap::Ref<Given>> pages(source);
    EXPECT_EQ(pages.try_allocate(size, 16), nullptr);
    EXPECT_EQ(given.out, 0);
    ::munmap(given.memory, size);
    ::close(file);
}

TEST(PopulatedPages, AreWrittenToWhereTheKernelCannotBeAsked) {
    // It refuses an address within a page in the same way in which older kernels refuse the question.
    alignas(4096) unsigned char memory[3 * 4096];
    std::memset(memory, 1, sizeof memory);
    Given given{memory + 64};
    const reap::Ref<Given> source(given);
    PopulatedPages<reap::Ref<Given>> pages(source);
    EXPECT_EQ(pages.try_allocate(8192, 16), memory + 64);
    EXPECT_EQ(memory[64], 0);
    EXPECT_EQ(memory[64 + 4096], 0);
    EXPECT_EQ(memory[64 + 8192], 1);
}

TEST(PopulatedPages, FailWhereTheKernelRefuses) {
    PopulatedPages<> pages;
    const void *got = &pages;
    if (!where_refused(SYS_madvise, EPERM, [&] { got = pages.try_allocate(8192, 16); }))
        GTEST_SKIP() << "no seccomp";
    EXPECT_EQ(got, nullptr);
}

TEST(HugePages, AreAlignedAndRounded) {
    HugePages pages;
    const auto got = pages.try_allocate_at_least(huge + 1, 16);
    ASSERT_NE(got.data, nullptr);
    EXPECT_EQ(got.size, 2 * huge);
    EXPECT_EQ(reap::padding_at(got.data, huge), 0U);
    HugePages::deallocate(got.data, huge + 1, 16);
    expect_boundaries(pages, 64, 2 * huge);
    expect_at_least(pages, 3 * huge);
    expect_separate(pages, 2);
    expect_region(pages, 3 * huge);
}

TEST(HugePages, TellWhatCameOfIt) {
    fallbacks = 0;
    const HugePages pages(note);
    PopulatedPages<HugePages> touched{pages};
    const auto got = touched.try_allocate_at_least(4 * huge, 16);
    ASSERT_NE(got.data, nullptr);
    const std::size_t had = HugePages::huge_bytes(got.data, got.size);
    if (HugePages::status() == reap::HugePageStatus::available) {
        EXPECT_EQ(fallbacks, 0);
        // There is memory in pieces of 2 MB on any machine that is not at its end.
        EXPECT_GT(had, 0U);
        EXPECT_EQ(had % huge, 0U);
    } else {
        EXPECT_EQ(fallbacks, 1);
        EXPECT_EQ(had, 0U);
    }
    touched.deallocate(got.data, got.size, 16);

    PopulatedPages<> ordinary;
    void *const small = ordinary.try_allocate(4096, 16);
    EXPECT_EQ(HugePages::huge_bytes(small, 4096), 0U);
    EXPECT_EQ(HugePages::huge_bytes(small, 0), 0U);
    ordinary.deallocate(small, 4096, 16);
}

TEST(HugePages, HandOutOrdinaryOnesWhereTheyAreSwitchedOff) {
    if (::prctl(PR_SET_THP_DISABLE, 1UL, 0UL, 0UL, 0UL) != 0) GTEST_SKIP() << "the kernel has no such switch";
    fallbacks = 0;
    PopulatedPages<HugePages> pages{HugePages(note)};
    const auto got = pages.try_allocate_at_least(huge, 16);
    EXPECT_NE(HugePages::status(), reap::HugePageStatus::available);
    EXPECT_EQ(::prctl(PR_SET_THP_DISABLE, 0UL, 0UL, 0UL, 0UL), 0);
    ASSERT_NE(got.data, nullptr);
    EXPECT_EQ(fallbacks, 1);
    EXPECT_STREQ(last_fallback.source, "HugePages");
    EXPECT_EQ(last_fallback.data, got.data);
    EXPECT_EQ(last_fallback.size, huge);
    EXPECT_EQ(resident(got.data, got.size), huge / 4096);
    EXPECT_EQ(HugePages::huge_bytes(got.data, got.size), 0U);
    pages.deallocate(got.data, huge, 16);
}

TEST(HugePages, TellWhereTheKernelHasNone) {
    fallbacks = 0;
    const bool ran = where_refused(SYS_madvise, EINVAL, [] {
        HugePages pages(note);
        EXPECT_TRUE(serves(pages, 100, 16));
        HugePages quiet;
        EXPECT_TRUE(serves(quiet, 100, 16)) << "nobody is told";
    });
    if (!ran) GTEST_SKIP() << "no seccomp";
    EXPECT_EQ(fallbacks, 1);
    EXPECT_EQ(last_fallback.error, EINVAL);
    EXPECT_NE(std::strstr(last_fallback.reason, "no transparent huge pages"), nullptr);
}

TEST(HugePages, TakeSettingsThatCannotBeReadForNone) {
    fallbacks = 0;
    const bool ran = where_refused(SYS_openat, EACCES, [] {
        EXPECT_EQ(HugePages::status(), reap::HugePageStatus::unsupported);
        EXPECT_EQ(HugePages::huge_bytes(&fallbacks, sizeof fallbacks), 0U);
        HugePages pages(note);
        EXPECT_TRUE(serves(pages, 100, 16));
    });
    if (!ran) GTEST_SKIP() << "no seccomp";
    EXPECT_EQ(fallbacks, 1);
    EXPECT_EQ(last_fallback.error, 0);
}

TEST(HugePages, KnowWhatTheSettingsMean) {
    using reap::HugePageStatus;
    constexpr const char *madvise = "always [madvise] never";
    constexpr const char *never = "always madvise [never]";
    constexpr const char *inherit = "always [inherit] madvise never";
    const auto meaning = reap::REAP_MODE::detail::meaning_of;
    EXPECT_EQ(meaning(nullptr, nullptr), HugePageStatus::unsupported);
    EXPECT_EQ(meaning(madvise, nullptr), HugePageStatus::available);
    EXPECT_EQ(meaning(never, nullptr), HugePageStatus::switched_off);
    EXPECT_EQ(meaning(madvise, inherit), HugePageStatus::available);
    EXPECT_EQ(meaning(never, inherit), HugePageStatus::switched_off);
    EXPECT_EQ(meaning(never, "always inherit [madvise] never"), HugePageStatus::available);
    EXPECT_EQ(meaning(madvise, "always inherit madvise [never]"), HugePageStatus::switched_off);
}

TEST(HugePages, ReadTheKernelsFilesByLines) {
    const int file = ::memfd_create("lines", MFD_CLOEXEC);
    const std::string text = "first\n" + std::string(10000, 'x') + "\n\nlast";
    ASSERT_EQ(::write(file, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    reap::REAP_MODE::detail::KernelFile lines(("/proc/self/fd/" + std::to_string(file)).c_str());
    EXPECT_STREQ(lines.line(), "first");
    EXPECT_STREQ(lines.line(), std::string(255, 'x').c_str()) << "cut off";
    EXPECT_STREQ(lines.line(), "");
    EXPECT_STREQ(lines.line(), "last");
    EXPECT_EQ(lines.line(), nullptr);
    ::close(file);
}

TEST(SystemPages, HaveAPageWhereNothingIsAskedFor) {
    void *data = SystemPages::try_allocate(0, 16);
    ASSERT_NE(data, nullptr);
    EXPECT_EQ(SystemPages::try_resize(data, 0, 0, 16), data);
    data = SystemPages::try_resize(data, 0, 5000, 16);
    ASSERT_NE(data, nullptr);
    EXPECT_EQ(SystemPages::try_resize(data, 5000, 0, 16), data);
    SystemPages::deallocate(data, 0, 16);
}

// More than any process may address.
TEST(SystemPages, StayWhereThereAreNoAddressesForMore) {
    constexpr std::size_t all = std::size_t{1} << 57U;
    void *const data = SystemPages::try_allocate(5000, 16);
    ASSERT_NE(data, nullptr);
    EXPECT_EQ(SystemPages::try_resize(data, 5000, all, 16), nullptr);
    std::memset(data, 1, 5000);
    SystemPages::deallocate(data, 5000, 16);
}

// More than any process may address.
TEST(HugePages, FailWhereThereAreNoAddresses) {
    constexpr std::size_t all = std::size_t{1} << 57U;
    EXPECT_EQ(HugePages().try_allocate(all, 16), nullptr);
    EXPECT_EQ(NodePages(0, note).try_allocate(all, 16), nullptr);
    EXPECT_EQ(PopulatedPages<>().try_allocate(all, 16), nullptr);
}

TEST(NodePages, AreOnTheirNode) {
    for (unsigned node = 0; node < 8; ++node) {
        if (!NodePages<>::exists(node)) continue;
        fallbacks = 0;
        NodePages pages(node, note);
        void *const data = pages.try_allocate(100000, 16);
        ASSERT_NE(data, nullptr);
        std::memset(data, 1, 100000);
        const int where = NodePages<>::node_of(data);
        EXPECT_TRUE(where == static_cast<int>(node) || (where == -1 && fallbacks == 1)) << where;
        int policy = -1;
        constexpr unsigned long at_address = 2; // MPOL_F_ADDR
        if (::syscall(SYS_get_mempolicy, &policy, nullptr, 0UL, data, at_address) == 0 && fallbacks == 0) {
            EXPECT_EQ(policy, 2) << "MPOL_BIND";
        }
        pages.deallocate(data, 100000, 16);
    }
}

TEST(NodePages, RefuseANodeThatIsNotThere) {
    EXPECT_FALSE(NodePages<>::exists(1000));
    EXPECT_THROW(NodePages(1000), std::invalid_argument);
    EXPECT_THROW(NodePages(UINT32_MAX), std::invalid_argument);
    EXPECT_NO_THROW(NodePages(0));
}

TEST(NodePages, KeepTheContract) {
    NodePages pages(0);
    expect_boundaries(pages, 1U << 16U, huge);
    expect_at_least(pages, 100000);
    expect_separate(pages, 3);
    expect_region(pages, 200000);
    NodePages<PopulatedPages<>> moved(0);
    expect_region(moved, 20000);
    PopulatedPages<NodePages<HugePages>> all{NodePages<HugePages>(0)};
    expect_region(all, huge);
}

TEST(NodePages, TellWhereTheyCannotBeBound) {
    // Memory within a page: mbind refuses, and the memory is allocated all the same.
    alignas(4096) std::byte memory[2 * 4096];
    Given given{memory + 64};
    const reap::Ref<Given> source(given);
    NodePages<reap::Ref<Given>> pages(source, 0, note);
    fallbacks = 0;
    EXPECT_EQ(pages.try_allocate(64, 16), memory + 64);
    EXPECT_EQ(fallbacks, 1);
    EXPECT_STREQ(last_fallback.source, "NodePages");
    EXPECT_NE(last_fallback.error, 0);
}

// As Docker's default profile has it.
TEST(NodePages, AreOrdinaryWhereContainersForbidToBind) {
    fallbacks = 0;
    const bool ran = where_refused(SYS_mbind, EPERM, [] {
        NodePages pages(0, note);
        EXPECT_TRUE(serves(pages, 10000, 16));
        NodePages quiet(0);
        EXPECT_TRUE(serves(quiet, 10000, 16)) << "nobody is told";
    });
    if (!ran) GTEST_SKIP() << "no seccomp";
    EXPECT_EQ(fallbacks, 1);
    EXPECT_EQ(last_fallback.error, EPERM);
}

TEST(NodePages, TakeTheirNodeForTheOnlyOneWhereTheKernelDoesNotSay) {
    const bool ran = where_refused(SYS_get_mempolicy, ENOSYS, [] {
        EXPECT_TRUE(NodePages<>::exists(0));
        EXPECT_FALSE(NodePages<>::exists(1));
        EXPECT_EQ(NodePages<>::node_of(&fallbacks), -1);
    });
    if (!ran) GTEST_SKIP() << "no seccomp";
}

} // namespace
