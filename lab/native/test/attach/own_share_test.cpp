// A process's own CPU time is known by samples, whatever a probe costs.
#include "attach/own_share.h"

#include <gtest/gtest.h>
#include <random>

namespace reap::native {
namespace {

constexpr double kCall = 2e-6;       // of its own time
constexpr double kCalibrated = 1e-6; // of a probe, as it was measured

// Windows of 20 ms in which probes take `probe` seconds a call, sampled each millisecond.
struct Windows {
    explicit Windows(double probe) : probe(probe) {}

    OwnShare::Window next() {
        const double cpu = 0.02;
        const double calls = cpu / (kCall + probe);
        std::binomial_distribution<uint64_t> own(20, kCall / (kCall + probe));
        return {cpu, calls * kCalibrated, calls, 20, own(random)};
    }

    double probe;
    std::mt19937 random{7}; // NOLINT(cert-msc32-c,cert-msc51-cpp): the same windows each time
};

TEST(OwnShare, CallsAreRightWhereAProbeCostsManyTimesWhatWasMeasured) {
    for (const double probe : {1e-6, 5e-6, 40e-6}) {
        Windows windows(probe);
        OwnShare share;
        double calls_a_second = 0;
        constexpr int rounds = 2000;
        for (int i = 0; i < rounds; ++i) {
            const OwnShare::Window window = windows.next();
            calls_a_second += window.calls / share.add(window).seconds / rounds;
        }
        EXPECT_NEAR(calls_a_second * kCall, 1, 0.15) << probe;
    }
}

TEST(OwnShare, FewSamplesSayThatItIsNotKnown) {
    OwnShare share;
    const OwnShare::Own own = share.add({0.02, 0.0199, 1000, 20, 1});
    EXPECT_FALSE(own.known);
    EXPECT_TRUE(share.add({0.02, 0.001, 1000, 20, 12}).known);
}

TEST(OwnShare, ASmallShareIsAnUpperBoundHoweverManySamplesTellIt) {
    OwnShare share;
    EXPECT_FALSE(share.add({2, 1.9, 100'000, 2000, 80}).known);
    EXPECT_TRUE(share.add({2, 1.9, 100'000, 2000, 400}).known);
}

TEST(OwnShare, AWindowOfManySamplesIsNotMixedWithOthers) {
    OwnShare share;
    (void)share.add({0.02, 0.0199, 10'000, 20, 0});
    EXPECT_NEAR(share.add({0.2, 0.02, 10, 200, 180}).seconds, 0.18, 0.001);
}

TEST(OwnShare, WithoutSamplesACalibrationIsNotTrustedWhereProbesTookMost) {
    OwnShare share;
    const OwnShare::Own most = share.add({1, 0.7, 1000, 0, 0});
    EXPECT_NEAR(most.seconds, 0.3, 1e-9);
    EXPECT_FALSE(most.known);
    EXPECT_TRUE(share.add({1, 0.2, 1000, 0, 0}).known);
    EXPECT_NEAR(share.add({1, 1.2, 1000, 0, 0}).seconds, 0.1, 1e-9);
}

} // namespace
} // namespace reap::native
