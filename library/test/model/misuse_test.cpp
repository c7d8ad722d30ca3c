#include "reap/testkit/misuse_matrix.h"

#include <cstddef>
#include <cstdio>
#include <gtest/gtest.h>
#include <string>

#include "cases.h"

// The misuse matrix of every case. What has no checked mode, or is built without it, is told nothing here:
// then only what says so by its answer is found.

namespace {

using reap::test::Case;

class MisuseMatrix : public testing::TestWithParam<Case> {};

TEST_P(MisuseMatrix, IsFoundInCheckedMode) {
    if (!reap::checked) GTEST_SKIP() << "only in checked mode";
    if (!GetParam().checks_misuse) GTEST_SKIP() << "hands out pages, and does not check what is done to them";
    const auto matrix = reap::testkit::misuse_matrix(GetParam().make);
    const std::size_t writes = matrix.applicable(false);
    std::printf("%s: %zu of %zu found; reads: %zu of %zu\n%s", GetParam().name.c_str(), matrix.noticed(false),
                writes, matrix.noticed(true), matrix.applicable(true), matrix.to_string().c_str());
    EXPECT_GT(writes, 0U);
    if (REAP_ASAN) {
        EXPECT_EQ(matrix.noticed(false), writes);
        EXPECT_EQ(matrix.noticed(true), matrix.applicable(true));
    } else {
        EXPECT_GE(matrix.noticed(false) * 100, writes * 95);
    }
    for (const auto &cell : matrix.cells()) {
        // What went back to the source with its object cannot be told from what never was the layer's.
        if (cell.what == reap::Misuse::double_free) continue;
        // An obstack frees by rewinding.
        if (cell.what == reap::Misuse::use_after_free && GetParam().name.starts_with("Obstack")) continue;
        EXPECT_NE(cell.outcome, reap::testkit::MisuseCell::misnamed) << cell.size << " bytes: " << cell.said;
    }
}

INSTANTIATE_TEST_SUITE_P(Cases, MisuseMatrix, testing::ValuesIn(reap::test::all_cases()),
                         reap::test::name_of);

} // namespace
