// Runs each test where the C library has what is newer, and where it seems not to.
#pragma once

#include <gtest/gtest.h>

#include "newer.h"

namespace reap::older {

class Sides : public testing::TestWithParam<bool> {
  protected:
    void SetUp() override { hides_newer = GetParam(); }
    void TearDown() override { hides_newer = false; }
};

#define REAP_BOTH_SIDES(suite)                                                                               \
    INSTANTIATE_TEST_SUITE_P(Glibc, suite, testing::Bool(),                                                  \
                             [](const auto &side) { return side.param ? "older" : "newer"; })

} // namespace reap::older
