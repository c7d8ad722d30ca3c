// Concern: sizes are drawn in exact proportion to their counts, whatever these are.
#include "alias_table.h"

#include <gtest/gtest.h>
#include <vector>

#include "chi_squared.h"

namespace {

using reap::preload::AliasTable;
using reap::preload::Random;

std::vector<reap_litter_size> sizes_of(const std::vector<uint64_t> &counts) {
    std::vector<reap_litter_size> sizes;
    sizes.reserve(counts.size());
    for (const uint64_t count : counts) sizes.push_back({sizes.size() * 8, count});
    return sizes;
}

double deviation(const std::vector<uint64_t> &counts, uint64_t seed, int draws) {
    const std::vector<reap_litter_size> sizes = sizes_of(counts);
    std::vector<AliasTable::Column> columns(sizes.size());
    const AliasTable table(sizes.data(), static_cast<uint32_t>(sizes.size()), columns.data());
    double total = 0;
    for (const uint64_t count : counts) total += static_cast<double>(count);
    std::vector<double> seen(counts.size());
    std::vector<double> expected;
    expected.reserve(counts.size());
    for (const uint64_t count : counts) expected.push_back(draws * static_cast<double>(count) / total);
    Random random(seed);
    for (int i = 0; i < draws; ++i) ++seen[table.draw(random)];
    return reap::test::chi_squared_deviation(seen, expected);
}

TEST(AliasTable, DrawsInProportionToTheCounts) {
    EXPECT_LT(deviation({1, 1}, 1, 100000), 4);
    EXPECT_LT(deviation({5, 1, 3, 1, 90}, 2, 200000), 4);
    std::vector<uint64_t> zipf(500);
    for (size_t rank = 0; rank < zipf.size(); ++rank) zipf[rank] = 1000000 / (rank + 1);
    EXPECT_LT(deviation(zipf, 3, 2000000), 4);
    std::vector<uint64_t> random_counts(4096);
    Random random(4);
    for (uint64_t &count : random_counts) count = 1 + random.below(1000);
    EXPECT_LT(deviation(random_counts, 5, 4000000), 4);
}

// The test can tell: a distribution that is off by a few percent is found out.
TEST(AliasTable, TheChiSquaredTestTellsASlightSkew) {
    const std::vector<double> seen{51000, 49000};
    EXPECT_GT(reap::test::chi_squared_deviation(seen, {50000, 50000}), 4);
}

TEST(AliasTable, OneSizeIsAlwaysDrawn) {
    const std::vector<reap_litter_size> sizes = sizes_of({7});
    AliasTable::Column column;
    const AliasTable table(sizes.data(), 1, &column);
    Random random(1);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(table.draw(random), 0u);
}

// Every ticket of every column is one size's, and each size has as many as its count says: no rounding at
// all.
TEST(AliasTable, GivesEverySizeItsExactShare) {
    Random random(9);
    for (int round = 0; round < 200; ++round) {
        std::vector<uint64_t> counts(1 + random.below(40));
        uint64_t total = 0;
        for (uint64_t &count : counts) total += count = 1 + random.below(1u << (1 + random.below(30)));
        const std::vector<reap_litter_size> sizes = sizes_of(counts);
        std::vector<AliasTable::Column> columns(sizes.size());
        const AliasTable table(sizes.data(), static_cast<uint32_t>(sizes.size()), columns.data());
        std::vector<uint64_t> tickets(sizes.size());
        for (size_t i = 0; i < columns.size(); ++i) {
            const uint64_t own = std::min(columns[i].own, total);
            tickets[i] += own;
            tickets[columns[i].alias] += total - own;
        }
        for (size_t i = 0; i < sizes.size(); ++i) EXPECT_EQ(tickets[i], counts[i] * sizes.size());
    }
}

// The largest that the format allows.
TEST(AliasTable, DoesNotOverflow) {
    std::vector<uint64_t> counts(REAP_LITTER_MOST_SIZES, 1);
    counts[17] = REAP_LITTER_MOST_COUNT - REAP_LITTER_MOST_SIZES + 1;
    const std::vector<reap_litter_size> sizes = sizes_of(counts);
    std::vector<AliasTable::Column> columns(sizes.size());
    const AliasTable table(sizes.data(), static_cast<uint32_t>(sizes.size()), columns.data());
    Random random(1);
    for (int i = 0; i < 10000; ++i) EXPECT_EQ(table.draw(random), 17u);
}

} // namespace
