#include "reap/testkit/sweep.h"

#include <cstddef>
#include <cstdio>
#include <gtest/gtest.h>
#include <string>

#include "cases.h"

// The sweeps over every case. Under valgrind and the sanitizers they are shorter: REAP_SWEEP_OBJECTS says how
// many objects have all their orders tried.

namespace {

using reap::test::Case;

class Sweep : public testing::TestWithParam<Case> {};

TEST_P(Sweep, EachFailureOfTheUpstreamOnceAndPersistently) {
    if (!GetParam().fails_with_upstream) GTEST_SKIP() << "stands on no upstream that could be made to fail";
    std::uint64_t cases = 0;
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        const auto result = reap::testkit::sweep_failures(GetParam().make, seed);
        ASSERT_EQ(result.wrong, "") << "seed " << seed;
        cases += result.cases;
    }
    EXPECT_GE(cases, 2U);
    RecordProperty("cases", std::to_string(cases));
}

TEST_P(Sweep, EachSizeAndAlignmentAtABoundary) {
    const auto result = reap::testkit::sweep_boundaries(GetParam().make, reap::test::brief ? 64 : 4096);
    EXPECT_EQ(result.wrong, "");
    RecordProperty("cases", std::to_string(result.cases));
}

TEST_P(Sweep, EachOrderOfAllocationAndFree) {
    const std::uint64_t orders[] = {1, 3, 15, 105, 945, 10395, 135135};
    for (std::size_t objects = 1; objects <= (reap::test::brief ? 4 : 7); ++objects) {
        const auto result = reap::testkit::sweep_orders(GetParam().make, objects);
        ASSERT_EQ(result.wrong, "") << objects << " objects";
        EXPECT_EQ(result.cases, orders[objects - 1]);
    }
}

INSTANTIATE_TEST_SUITE_P(Cases, Sweep, testing::ValuesIn(reap::test::all_cases()), reap::test::name_of);

} // namespace
