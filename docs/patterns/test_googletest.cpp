// Each test of a GoogleTest program is a marked request, named by its phase: reap check limits what it
// allocates.
//
//     g++ -std=c++17 -g -I$(the folder of reap/mark.h) test_googletest.cpp -lgtest -pthread -o tests
//     reap check --max-allocs-per-mark 100 --max-live-at-exit 0 -- ./tests
#include <gtest/gtest.h>

#include <vector>

#include "reap/mark.h"

class MarksTests : public testing::EmptyTestEventListener {
    void OnTestStart(const testing::TestInfo &test) override {
        reap_mark_phase(test.name());
        reap_mark_request_begin();
    }
    void OnTestEnd(const testing::TestInfo &) override {
        reap_mark_request_end();
        reap_mark_phase("");
    }
};

TEST(Numbers, AreFew) {
    const std::vector<int> numbers(10);
    EXPECT_EQ(numbers.size(), 10U);
}

TEST(Numbers, AreMany) {
    std::vector<std::vector<int>> rows;
    for (int row = 0; row < 1000; ++row) rows.emplace_back(10);
    EXPECT_EQ(rows.size(), 1000U);
}

int main(int count, char **words) {
    testing::InitGoogleTest(&count, words);
    testing::UnitTest::GetInstance()->listeners().Append(new MarksTests);
    return RUN_ALL_TESTS();
}
