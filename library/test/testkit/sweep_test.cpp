#include "reap/testkit/sweep.h"

#include <cstddef>
#include <gtest/gtest.h>
#include <string>

#include "broken_subjects.h"

namespace {

using reap::test::broken;
using reap::test::Fault;

bool says(const reap::testkit::SweepResult &result, const char *what) {
    return result.wrong.find(what) != std::string::npos;
}

TEST(Sweep, OfFailuresFindsWhatALostRequestBreaks) {
    EXPECT_EQ(reap::testkit::sweep_failures(broken(Fault::none), 1).wrong, "");
    EXPECT_GT(reap::testkit::sweep_failures(broken(Fault::none), 1).cases, 50U);
    const auto lost = reap::testkit::sweep_failures(broken(Fault::loses_on_failure), 1);
    EXPECT_TRUE(says(lost, "changed its contents")) << lost.wrong;
    EXPECT_TRUE(says(lost, "upstream request")) << lost.wrong;
    EXPECT_TRUE(says(reap::testkit::sweep_failures(broken(Fault::gives_back_wrong), 1), "a wrong size"));
}

TEST(Sweep, OfBoundariesFindsSizesThatWrapAndAddressesThatAreNotAligned) {
    EXPECT_EQ(reap::testkit::sweep_boundaries(broken(Fault::none), 100).wrong, "");
    EXPECT_TRUE(says(reap::testkit::sweep_boundaries(broken(Fault::wraps), 100), "was met, which cannot be"));
    EXPECT_TRUE(says(reap::testkit::sweep_boundaries(broken(Fault::misaligns), 100), "is misaligned"));
    EXPECT_TRUE(says(reap::testkit::sweep_boundaries(broken(Fault::forgets_to_throw), 100), "has to throw"));
}

TEST(Sweep, OfOrdersIsAllOfThemAndFindsTheOneThatBreaks) {
    EXPECT_EQ(reap::testkit::sweep_orders(broken(Fault::none), 1).cases, 1U);
    EXPECT_EQ(reap::testkit::sweep_orders(broken(Fault::none), 4).cases, 105U);
    EXPECT_EQ(reap::testkit::sweep_orders(broken(Fault::none), 4).wrong, "");
    EXPECT_EQ(reap::testkit::sweep_orders(broken(Fault::scribbles), 1).wrong, "");
    EXPECT_EQ(reap::testkit::sweep_orders(broken(Fault::scribbles), 2).wrong,
              "contents changed, in the order 1 2 -1 -2");
}

TEST(Sweep, HasTheBoundariesThatItPromises) {
    const auto sizes = reap::testkit::boundary_sizes();
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{4095}, std::size_t{4097},
                                   SIZE_MAX, SIZE_MAX - 4096, SIZE_MAX / 2, SIZE_MAX / 2 + 2})
        EXPECT_TRUE(std::ranges::binary_search(sizes, size)) << size;
}

} // namespace
