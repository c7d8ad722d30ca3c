// What a process pays for being watched: never more than its share, however little it gets of a core.
#include "attach/budget.h"

#include <gtest/gtest.h>
#include <utility>

namespace reap::native {
namespace {

constexpr double kShare = 0.02;

// A process that gets `running` of a core, waits for it for `waiting` of the time, and sleeps for the rest. A
// window is watched whenever it can be paid for.
struct Watched {
    double running;
    double waiting;
    double slowdown = 0.5; // of its CPU time while it is watched
    CostBudget budget{};
    ProcessTime now{};
    double windows = 0;
    int gaps = 0; // between windows
    bool lend = false;

    void go_on(double seconds, double slowed) {
        now.wall += seconds;
        now.cpu += seconds * running;
        now.waited += seconds * waiting;
        now.cost += seconds * running * slowed;
    }

    void watch(double until) {
        constexpr double step = 0.01;
        budget.begin(kShare, until, now);
        if (lend) budget.lend();
        while (now.wall < until) {
            const double most = budget.of_window();
            const double before = now.cost;
            const double begin = now.wall;
            do go_on(step, slowdown);
            while (now.wall - begin < 0.2 && now.cost - before < most);
            windows += now.wall - begin;
            if (budget.settle(now) >= 0) continue;
            go_on(2 * step, slowdown); // removing takes its time
            budget.ended(now.cost - before, 2 * step * running * slowdown);
            ++gaps;
            while (now.wall < until && !(budget.could_pay(1, now) && (budget.settle(now), budget.pays(1))))
                go_on(step, 0);
        }
    }

    [[nodiscard]] double overhead() const { return now.cost / (now.cpu - now.cost); }
};

TEST(CostBudget, ABusyProcessPaysItsShare) {
    Watched process{1, 0};
    process.watch(60);
    EXPECT_LE(process.overhead(), kShare * 1.02);
    EXPECT_GE(process.overhead(), kShare * 0.8);
}

TEST(CostBudget, AProcessThatWaitsForACorePaysNoMore) {
    for (const double running : {0.5, 0.12, 0.03}) {
        Watched process{running, 1 - running};
        process.watch(60);
        EXPECT_LE(process.overhead(), kShare * 1.02) << running;
        EXPECT_GE(process.overhead(), kShare * 0.4) << running;
    }
}

TEST(CostBudget, AShortRecordingKeepsToIt) {
    for (const double slowdown : {0.9, 0.5, 0.1}) {
        Watched process{0.12, 0.88, slowdown};
        process.watch(5);
        EXPECT_LE(process.overhead(), kShare * 1.1) << slowdown;
        EXPECT_GT(process.windows, 0.01);
    }
}

TEST(CostBudget, AProcessThatSleepsPaysOfACore) {
    Watched process{0.02, 0, 0.3};
    process.watch(10);
    EXPECT_NEAR(process.windows, 10, 0.3); // without a gap
    EXPECT_LE(process.now.cost, 10 * CostBudget::kIdleShare);
    Watched busier{0.1, 0, 0.9};
    busier.watch(60);
    EXPECT_LE(busier.now.cost, 60 * CostBudget::kIdleShare * 1.02);
    EXPECT_GE(busier.now.cost, 60 * CostBudget::kIdleShare * 0.7);
}

TEST(CostBudget, AShortProgramIsWatchedInSeveralWindows) {
    for (const auto &[slowdown, gaps] : {std::pair{0.9, 1}, {0.5, 2}, {0.2, 4}, {0.1, 3}}) {
        Watched process{1, 0, slowdown, {}, {}, 0, 0, true};
        process.watch(1);
        EXPECT_GE(process.gaps, gaps) << slowdown;
        EXPECT_LE(process.now.cost, 4 * CostBudget::kWindow) << slowdown;
        Watched longer{1, 0, slowdown, {}, {}, 0, 0, true};
        longer.watch(60);
        EXPECT_LE(longer.overhead(), kShare * 1.05) << slowdown;
        EXPECT_GE(longer.overhead(), kShare * 0.8) << slowdown;
    }
}

TEST(CostBudget, AQuietHourIsNotPaidBackAtOnce) {
    CostBudget budget;
    budget.begin(0.05, 3601, {});
    ProcessTime now{3600, 3600, 0, 0};
    budget.settle(now);
    now.wall = now.cpu += 1;
    now.cost += 1;
    budget.settle(now);
    EXPECT_FALSE(budget.pays(0));
}

TEST(CostBudget, AWaitThatIsCountedLateIsNoSleep) {
    CostBudget budget;
    budget.begin(kShare, 1, {});
    budget.settle({0.1, 0, 0, 0}); // it waits, which is counted when it runs again
    budget.settle({0.2, 0, 0, 0.2});
    budget.settle({0.3, 0, 0, 0.2});
    budget.ended(0.0015, 0); // 0.1 s of sleep pays 0.001
    EXPECT_FALSE(budget.pays(1));
}

} // namespace
} // namespace reap::native
