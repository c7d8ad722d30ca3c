// A program that was built without optimisation: its twin is this file with -O2. See
// ../../truth/reports_repeats.py.
#include "reports.h"

#include <algorithm>
#include <vector>

namespace {

// Points are moved and sorted, through accessors that only an optimising compiler inlines.
void points(double scale) {
    struct Point {
        double x, y;
        double norm() const { return x * x + y * y; }
    };
    std::uint64_t state = 1;
    double sum = 0;
    for (int turn = static_cast<int>(150 * scale); turn > 0; turn--) {
        std::vector<Point> cloud;
        for (int at = 0; at < 10000; at++)
            cloud.push_back(
                {static_cast<double>(reports::next_number(state) % 1000), static_cast<double>(at % 77)});
        std::stable_sort(cloud.begin(), cloud.end(),
                         [](const Point &one, const Point &other) { return one.norm() < other.norm(); });
        sum += cloud[cloud.size() / 2].norm();
    }
    std::printf("%.1f\n", sum);
}

} // namespace

int main(int count, char **words) {
    static constexpr reports::Program PROGRAMS[] = {{"points", points}};
    return reports::choose(PROGRAMS, count, words);
}
