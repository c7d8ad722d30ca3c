#include "reap/testkit/misuse_matrix.h"

#include <array>
#include <cstddef>
#include <gtest/gtest.h>
#include <string>

#include "reap/layer/region.h"

namespace {

using reap::Misuse;
using reap::testkit::MisuseCell;

constexpr std::array<std::size_t, 2> sizes{16, 40};

/// Finds a double free, calls a foreign one a double one, and sees nothing else.
class HalfBlind {
  public:
    reap::Allocation allocate(std::size_t size, std::size_t /*alignment*/) {
        std::byte *const data = memory_ + used_;
        used_ += (size + 31) / 16 * 16;
        return {data, size};
    }
    void deallocate(void *data, std::size_t /*size*/, std::size_t /*alignment*/) {
        const bool ours = data >= memory_ && data < memory_ + sizeof memory_;
        if (!ours || data == last_) reap::report_misuse({Misuse::double_free, data, 0, "HalfBlind"});
        last_ = data;
    }

  private:
    alignas(16) std::byte memory_[4096] = {};
    std::size_t used_ = 16;
    void *last_ = nullptr;
};

TEST(MisuseMatrix, SaysWhatIsFoundMissedAndMisnamed) {
    const auto matrix =
        reap::testkit::misuse_matrix(reap::testkit::factory([] { return HalfBlind(); }), sizes, false);
    for (const auto &cell : matrix.cells()) {
        auto expected = MisuseCell::missed;
        if (cell.what == Misuse::double_free) expected = MisuseCell::found;
        if (cell.what == Misuse::foreign_free) expected = MisuseCell::misnamed;
        if (cell.what == Misuse::use_after_rewind || cell.what == Misuse::use_after_reset ||
            cell.what == Misuse::stale_mark)
            expected = MisuseCell::not_applicable;
        EXPECT_EQ(cell.outcome, expected) << reap::to_string(cell.what);
    }
    EXPECT_EQ(matrix.applicable(false), 12U);
    EXPECT_EQ(matrix.noticed(false), 4U);
    EXPECT_NE(matrix.to_string().find("++"), std::string::npos);
}

/// Stops the program at once.
class Abrupt {
  public:
    static reap::Allocation allocate(std::size_t size, std::size_t alignment) {
        return {reap::testkit::HeapSource::try_allocate(size + 64, alignment), size};
    }
    static void deallocate(void * /*data*/, std::size_t /*size*/, std::size_t /*alignment*/) { std::abort(); }
};

TEST(MisuseMatrix, SurvivesWhatEndsTheProgram) {
    const auto matrix =
        reap::testkit::misuse_matrix(reap::testkit::factory([] { return Abrupt(); }), sizes, false);
    for (const auto &cell : matrix.cells()) {
        if (cell.what == Misuse::double_free) {
            EXPECT_EQ(cell.outcome, MisuseCell::ended);
        }
    }
}

} // namespace
