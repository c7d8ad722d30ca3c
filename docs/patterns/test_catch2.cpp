// Each test case of a Catch2 program (version 2 or 3) is a marked request, named by its phase.
//
//     g++ -std=c++17 -g -I$(the folder of reap/mark.h) test_catch2.cpp -o tests     (version 3: -lCatch2Main
//     -lCatch2) reap check --max-allocs-per-mark 100 -- ./tests
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using MarksBase = Catch::EventListenerBase;
#else
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
using MarksBase = Catch::TestEventListenerBase;
#endif

#include <vector>

#include "reap/mark.h"

struct MarksTests : MarksBase {
    using MarksBase::MarksBase;

    void testCaseStarting(const Catch::TestCaseInfo &test) override {
        reap_mark_phase(test.name.c_str());
        reap_mark_request_begin();
    }
    void testCaseEnded(const Catch::TestCaseStats &) override {
        reap_mark_request_end();
        reap_mark_phase("");
    }
};
CATCH_REGISTER_LISTENER(MarksTests)

TEST_CASE("numbers are few") {
    const std::vector<int> numbers(10);
    REQUIRE(numbers.size() == 10);
}

TEST_CASE("numbers are many") {
    std::vector<std::vector<int>> rows;
    for (int row = 0; row < 1000; ++row) rows.emplace_back(10);
    REQUIRE(rows.size() == 1000);
}
