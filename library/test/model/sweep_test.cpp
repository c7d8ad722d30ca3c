#include "reap/testkit/sweep.h"

#include <cstddef>
#include <cstdio>
#include <gtest/gtest.h>
#include <string>

#include "cases.h"

// The sweeps over every case. Where each access is watched or builds are slow they are shorter.

namespace {

using reap::test::Case;

#if defined(NDEBUG)
constexpr bool slow = false;
#else
constexpr bool slow = true;
#endif

/// How many objects have all orders tried: seven in the build that users have. A layer's variations have six;
/// checked mode, which fills each chunk again for each order, has five, as have sources, which look at
/// nothing but the size and ask the system each time.
std::size_t most_objects(const Case &one) {
    if (reap::test::brief) return 4;
    if (slow || reap::checked || !one.checks_misuse) return 5;
    return one.name.find('/') != std::string::npos ? 6 : 7;
}

class Sweep : public testing::TestWithParam<Case> {};

TEST_P(Sweep, EachFailureOfTheUpstreamOnceAndPersistently) {
    if (!GetParam().fails_with_upstream) GTEST_SKIP() << "stands on no upstream that could be made to fail";
    std::uint64_t cases = 0;
    for (std::uint64_t seed = 1; seed <= (reap::test::brief ? 1 : 3); ++seed) {
        const auto result = reap::testkit::sweep_failures(GetParam().make, seed);
        ASSERT_EQ(result.wrong, "") << "seed " << seed;
        cases += result.cases;
    }
    EXPECT_GE(cases, 2U);
    RecordProperty("cases", std::to_string(cases));
}

TEST_P(Sweep, EachSizeAndAlignmentAtABoundary) {
    // Checked mode fills all that it allocates, AddressSanitizer marks it, and the system would give them as
    // much as there is.
    if ((reap::checked || reap::test::brief) && !GetParam().fails_with_upstream)
        GTEST_SKIP() << "sizes are bounded by no upstream";
    if (reap::test::brief && GetParam().name.find('/') != std::string::npos) GTEST_SKIP() << "a variation";
    const auto result = reap::testkit::sweep_boundaries(GetParam().make, reap::test::brief ? 16 : 4096);
    EXPECT_EQ(result.wrong, "");
    RecordProperty("cases", std::to_string(result.cases));
}

TEST_P(Sweep, EachOrderOfAllocationAndFree) {
    const std::uint64_t orders[] = {1, 3, 15, 105, 945, 10395, 135135};
    for (std::size_t objects = 1; objects <= most_objects(GetParam()); ++objects) {
        const auto result = reap::testkit::sweep_orders(GetParam().make, objects);
        ASSERT_EQ(result.wrong, "") << objects << " objects";
        EXPECT_EQ(result.cases, orders[objects - 1]);
    }
}

INSTANTIATE_TEST_SUITE_P(Cases, Sweep, testing::ValuesIn(reap::test::all_cases()), reap::test::name_of);

} // namespace
