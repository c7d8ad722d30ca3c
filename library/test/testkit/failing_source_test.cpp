#include "reap/testkit/failing_source.h"

#include <cstddef>
#include <gtest/gtest.h>
#include <vector>

namespace {

using reap::testkit::FailingResource;
using reap::testkit::FailingSource;
using reap::testkit::InjectedFailure;

/// Which of the next requests are met.
std::vector<bool> met(FailingSource<> &source, int requests) {
    std::vector<bool> all;
    for (int number = 0; number < requests; ++number) {
        void *const data = source.try_allocate(24, 8);
        all.push_back(data != nullptr);
        if (data != nullptr) source.deallocate(data, 24, 8);
    }
    return all;
}

TEST(FailingSource, FailsOnce) {
    FailingSource<> source;
    source.fail_once(2);
    EXPECT_EQ(met(source, 5), (std::vector<bool>{true, true, false, true, true}));
    EXPECT_EQ(source.requests(), 5U);
    EXPECT_EQ(source.failures(), 1U);
}

TEST(FailingSource, FailsPersistentlyUntilToldToSucceed) {
    FailingSource<> source;
    source.fail_from(1);
    EXPECT_EQ(met(source, 4), (std::vector<bool>{true, false, false, false}));
    source.succeed();
    EXPECT_EQ(met(source, 2), (std::vector<bool>{true, true}));
}

TEST(FailingSource, FailsBySizeAndBySeed) {
    FailingSource<> source;
    source.fail_above(23);
    EXPECT_EQ(met(source, 1), std::vector<bool>{false});
    source.fail_above(24);
    EXPECT_EQ(met(source, 1), std::vector<bool>{true});
    source.fail_randomly(5, 2);
    const auto first = met(source, 100);
    source.fail_randomly(5, 2);
    EXPECT_EQ(met(source, 100), first);
    EXPECT_NE(std::ranges::count(first, true), 0);
    EXPECT_NE(std::ranges::count(first, false), 0);
}

TEST(FailingSource, ThrowsItsOwn) {
    FailingSource<> source;
    FailingResource resource(source);
    source.fail_from(0);
    EXPECT_THROW((void)source.allocate(1, 1), InjectedFailure);
    EXPECT_THROW((void)resource.allocate(1, 1), InjectedFailure);
    source.succeed();
    resource.deallocate(resource.allocate(10, 8), 10, 8);
    EXPECT_EQ(source.outstanding(), 0U);
    EXPECT_EQ(source.complaint(), "");
}

TEST(FailingSource, CountsWhatIsOut) {
    FailingSource<> source;
    void *const first = source.try_allocate(100, 8);
    const auto second = source.try_allocate_at_least(100, 64);
    EXPECT_GT(second.size, 100U);
    EXPECT_EQ(source.outstanding(), 2U);
    EXPECT_EQ(source.outstanding_bytes(), 100 + second.size);
    EXPECT_TRUE(source.holds(static_cast<std::byte *>(first) + 99));
    EXPECT_FALSE(source.holds(&source));
    source.deallocate(first, 100, 8);
    source.deallocate(second.data, 120, 64); // any size between the two
    EXPECT_EQ(source.outstanding_bytes(), 0U);
    EXPECT_EQ(source.peak_bytes(), 100 + second.size);
    EXPECT_EQ(source.complaint(), "");
}

TEST(FailingSource, ComplainsOfWhatComesBackWrong) {
    const auto complaint_of = [](auto give_back) {
        FailingSource<> source;
        void *const data = source.try_allocate(100, 8);
        give_back(source, data);
        if (source.outstanding() > 0) source.deallocate(data, 100, 8);
        return source.complaint().substr(0, 40);
    };
    using Source = FailingSource<>;
    EXPECT_EQ(complaint_of([](Source &source, void *data) { source.deallocate(data, 99, 8); }),
              "the source was returned a wrong size: ad");
    EXPECT_EQ(complaint_of([](Source &source, void *data) { source.deallocate(data, 100, 16); }),
              "the source was returned a wrong alignmen");
    EXPECT_EQ(complaint_of([](Source &source, void * /*data*/) { source.deallocate(&source, 100, 8); }),
              "the source was returned an address that ");
}

TEST(FailingSource, SeesPoisonThatWouldOutliveItsMemory) {
    if (!REAP_ASAN || !reap::checked) GTEST_SKIP() << "only AddressSanitizer has poison";
    FailingSource<> source;
    void *const data = source.try_allocate(100, 8);
    reap::annotate::no_access(data, 100);
    source.deallocate(data, 100, 8);
    EXPECT_NE(source.complaint().find("still closed"), std::string::npos);
}

} // namespace
