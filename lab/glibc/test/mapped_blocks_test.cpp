// Concern: blocks with a mapping each are found where one begins a page, with what is touched of them;
// nothing else is taken for one, and looking makes nothing resident.
#include "mapped_blocks.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <vector>

namespace {

using reap::glibc::find_mapped_blocks;

constexpr uint64_t page = 4096;
constexpr uint64_t mapped = 2;

class Mapping {
  public:
    explicit Mapping(uint64_t pages) : bytes_(pages * page) {
        memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        madvise(memory_, bytes_, MADV_NOHUGEPAGE);
    }
    ~Mapping() { munmap(memory_, bytes_); }
    Mapping(const Mapping &) = delete;
    Mapping &operator=(const Mapping &) = delete;

    [[nodiscard]] uint64_t begin() const { return reinterpret_cast<uint64_t>(memory_); }
    [[nodiscard]] uint64_t end() const { return begin() + bytes_; }
    [[nodiscard]] uint64_t &word(uint64_t offset) const {
        return *reinterpret_cast<uint64_t *>(begin() + offset);
    }

  private:
    uint64_t bytes_;
    void *memory_;
};

reap_resident_around found(const Mapping &mapping, uint64_t bytes) {
    reap_resident_around around{};
    find_mapped_blocks(mapping.begin(), mapping.end(), bytes, 0, around);
    return around;
}

TEST(MappedBlocks, AreFoundWithWhatIsTouchedOfThem) {
    const Mapping mapping(100);
    mapping.word(8) = 40 * page | mapped;
    for (uint64_t at = page; at < 5 * page; at += page) mapping.word(at + 64) = 1;
    mapping.word(50 * page + 8) = 2 * page | mapped; // after pages of something else
    EXPECT_EQ(found(mapping, 42 * page).mapped, 42 * page);
    EXPECT_EQ(found(mapping, 42 * page).mapped_resident, 6 * page);
    EXPECT_EQ(found(mapping, 42 * page).mapped_resident, 6 * page) << "looking made none resident";
    EXPECT_EQ(found(mapping, 40 * page).mapped, 40 * page) << "there are no more than the allocator says";
    EXPECT_EQ(found(mapping, 0).mapped, 0u);
}

TEST(MappedBlocks, NothingElseIsTakenForOne) {
    const Mapping mapping(10);
    for (const uint64_t head : {page, page | 3, page | 6, page + 16 + mapped, 11 * page | mapped, mapped}) {
        mapping.word(8) = head;
        EXPECT_EQ(found(mapping, 100 * page).mapped, 0u) << head;
    }
    mapping.word(8) = page | mapped;
    mapping.word(0) = 1;
    EXPECT_EQ(found(mapping, 100 * page).mapped, 0u);
}

TEST(MappedBlocks, AMappingThatIsGoneIsNoCrash) {
    const Mapping mapping(10);
    mapping.word(8) = 4 * page | mapped;
    munmap(reinterpret_cast<void *>(mapping.begin()), 10 * page);
    EXPECT_EQ(found(mapping, 100 * page).mapped, 0u);
}

// Go and the sanitizers reserve so much.
TEST(MappedBlocks, TerabytesThatNobodyTouchedArePassedOver) {
    constexpr uint64_t bytes = uint64_t{1} << 40;
    void *const memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) GTEST_SKIP() << "a terabyte cannot be reserved here";
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    const auto begin = reinterpret_cast<uint64_t>(memory);
    *reinterpret_cast<uint64_t *>(begin + bytes / 2 + 8) = 3 * page | mapped;
    reap_resident_around around{};
    find_mapped_blocks(begin, begin + bytes, 100 * page, 0, around);
    EXPECT_EQ(around.mapped, 3 * page);
    reap_resident_around nothing{};
    find_mapped_blocks(begin, begin + bytes, 100 * page, 1, nothing);
    EXPECT_EQ(nothing.mapped, 0u) << "the program ends, and does not wait";
    munmap(memory, bytes);
}

} // namespace
