// Concern: another process's memory is read without a trace in it, and never more of it than was allowed,
// whatever its lists say.
#include "glibc/process_heaps.h"

#include <csignal>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../glibc/walked_memory.h"
#include "glibc/other_memory.h"

namespace {

using reap::native::HeapPlaces;
using reap::native::OtherMemory;
using reap::native::walk_heaps;

constexpr uint64_t page = reap::glibc::page;
constexpr uint64_t second = 1'000'000'000;
constexpr uint64_t span = uint64_t{64} << 20;
constexpr uint64_t before_bins = 112; // of an arena: lock, flags, fastbins, top
constexpr uint64_t bins_bytes = uint64_t{254} * 8;
constexpr uint64_t next_arena = before_bins + bins_bytes + 16;

// A copy of this process that waits, as any other process would be looked at.
class Copy {
  public:
    Copy() : process_(fork()) {
        while (process_ == 0) pause();
    }
    ~Copy() {
        kill(process_, SIGKILL);
        waitpid(process_, nullptr, 0);
    }
    Copy(const Copy &) = delete;
    Copy &operator=(const Copy &) = delete;
    [[nodiscard]] pid_t process() const { return process_; }

  private:
    pid_t process_;
};

class Pages {
  public:
    explicit Pages(uint64_t bytes) : bytes_(bytes) {
        memory_ =
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        madvise(memory_, bytes, MADV_NOHUGEPAGE);
    }
    ~Pages() { munmap(memory_, bytes_); }
    Pages(const Pages &) = delete;
    Pages &operator=(const Pages &) = delete;
    [[nodiscard]] uint64_t begin() const { return reinterpret_cast<uint64_t>(memory_); }
    [[nodiscard]] uint64_t &word(uint64_t offset) const {
        return *reinterpret_cast<uint64_t *>(begin() + offset);
    }

  private:
    uint64_t bytes_;
    void *memory_;
};

bool readable_here() {
    const Copy copy;
    return OtherMemory(copy.process(), second).readable();
}

TEST(OtherMemory, IsReadWhereItIsResidentAlone) {
    if (!readable_here()) GTEST_SKIP() << "this user may not read its own processes";
    const Pages pages(4 * page);
    pages.word(page + 8) = 42;
    const Copy copy;
    pages.word(page + 8) = 43; // here, and not in the copy
    const OtherMemory memory(copy.process(), second);
    uint64_t value = 0;
    EXPECT_TRUE(reap::glibc::read_memory(pages.begin() + page + 8, &value, sizeof value));
    EXPECT_EQ(value, 42u);
    EXPECT_FALSE(reap::glibc::read_memory(pages.begin() + 2 * page, &value, sizeof value)) << "never touched";
    EXPECT_FALSE(reap::glibc::read_memory(pages.begin() + 2 * page - 8, &value, 16))
        << "the next page is not there";
    unsigned char there[4];
    ASSERT_TRUE(reap::glibc::find_resident(pages.begin(), 4, there));
    EXPECT_EQ((std::vector<unsigned char>(there, there + 4)), (std::vector<unsigned char>{0, 1, 0, 0}))
        << "reading made nothing resident";
}

TEST(OtherMemory, NoMoreIsReadThanIsAllowed) {
    if (!readable_here()) GTEST_SKIP() << "this user may not read its own processes";
    const Pages pages(page);
    pages.word(0) = 1;
    const Copy copy;
    const OtherMemory memory(copy.process(), second / 1'000'000 * 5);
    uint64_t value = 0;
    int times = 0;
    while (times < 100 && reap::glibc::read_memory(pages.begin(), &value, sizeof value)) ++times;
    EXPECT_EQ(times, 4); // of more than a microsecond
    EXPECT_TRUE(memory.exhausted());
}

TEST(ProcessHeaps, OfAProcessThatIsGoneAreNone) {
    pid_t gone = 0;
    {
        const Copy copy;
        gone = copy.process();
    }
    EXPECT_FALSE(walk_heaps(gone, HeapPlaces{}));
}

// Two arenas that follow each other and never come back to the main one, whose two heaps follow each other.
TEST(ProcessHeaps, ListsThatGoRoundEnd) {
    if (!readable_here()) GTEST_SKIP() << "this user may not read its own processes";
    const Pages data(4 * page);
    const Pages heaps(5 * span);
    const uint64_t main = data.begin() + page;
    const auto at = [](uint64_t address) -> uint64_t & { return *reinterpret_cast<uint64_t *>(address); };
    for (uint64_t bin = main + before_bins; bin < main + before_bins + bins_bytes; bin += 16) {
        at(bin) = at(bin + 8) = bin - 16;
    }
    const uint64_t first = (heaps.begin() + span - 1) & ~(span - 1);
    const auto arena_of = [first](uint64_t number) { return first + number * 2 * span + 32; };
    at(main + next_arena) = main; // as the list is found
    for (const uint64_t number : {0U, 1U}) {
        const uint64_t arena = arena_of(number);
        for (const uint64_t heap : {first + number * 2 * span, first + number * 2 * span + span}) {
            at(heap) = arena;
            at(heap + 8) = heap == first + number * 2 * span ? heap + span : heap - span;
            at(heap + 16) = 4 * page;
        }
        at(arena + before_bins - 16) = arena + span; // the top, in the second heap
        at(arena + next_arena) = arena_of(1 - number);
        at(arena + next_arena + 24) = ~uint64_t{0}; // bytes from the kernel
    }
    const uint64_t chunk = heaps.begin() + 16;
    at(chunk + 8) = 4 * page - 16;
    HeapPlaces places{.minor = 36,
                      .data_begin = data.begin(),
                      .data_end = data.begin() + 4 * page,
                      .first_break = reinterpret_cast<uint64_t>(sbrk(0)),
                      .resident = 4 * page,
                      .mappings = {{data.begin(), data.begin() + 4 * page}}};
    {
        const Copy copy;
        walk_heaps(copy.process(), places); // the list is the main arena alone
    }
    at(main + next_arena) = arena_of(0);
    const Copy copy;
    const auto found = walk_heaps(copy.process(), places);
    EXPECT_FALSE(found && found->others) << "arenas that do not come back are not known";
}

} // namespace
