// Pearson's test of counts against what they should be in the mean.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace reap::test {

// How many standard deviations the sum of squares lies above its mean, by Wilson and Hilferty's cube root,
// which is good from a few degrees of freedom on. Exact sampling stays below 4 but once in thirty thousand
// times.
inline double chi_squared_deviation(const std::vector<double> &seen, const std::vector<double> &expected) {
    double sum = 0;
    for (size_t i = 0; i < seen.size(); ++i) {
        sum += (seen[i] - expected[i]) * (seen[i] - expected[i]) / expected[i];
    }
    const double degrees = static_cast<double>(seen.size()) - 1;
    const double spread = 2 / (9 * degrees);
    return (std::cbrt(sum / degrees) - (1 - spread)) / std::sqrt(spread);
}

} // namespace reap::test
