// Every layer and every composition against the reference model.
//
//   library-model-plain [--operations N] [--seed N] [--only TEXT] [--list]
//
// N operations in all, spread over the cases whose name holds TEXT; the seed is printed, and given again
// repeats the run. REAP_MODEL_OPERATIONS in the environment stands for --operations.

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <unistd.h>

#include "cases.h"
#include "reap/testkit/reference_model.h"

namespace {

/// What is being run, for a signal's handler to tell.
char running[256] = "nothing";

void tell_and_die(int number) {
    // Nothing can be done about a failure to write here.
    if (::write(STDERR_FILENO, running, std::strlen(running)) < 0) ::_exit(3);
    std::signal(number, SIG_DFL);
    std::raise(number);
}

struct Settings {
    std::uint64_t operations = 1'000'000;
    std::uint64_t seed = 1;
    std::string only;
    bool list = false;
};

Settings settings_of(int count, char **words) {
    Settings settings;
    if (const char *const all = std::getenv("REAP_MODEL_OPERATIONS"); all != nullptr)
        settings.operations = std::strtoull(all, nullptr, 10);
    for (int at = 1; at < count; ++at) {
        const std::string_view word = words[at];
        const char *const value = at + 1 < count ? words[at + 1] : "";
        if (word == "--list") {
            settings.list = true;
            continue;
        }
        if (word == "--operations")
            settings.operations = std::strtoull(value, nullptr, 10);
        else if (word == "--seed")
            settings.seed = std::strtoull(value, nullptr, 10);
        else if (word == "--only")
            settings.only = value;
        else {
            std::fprintf(stderr, "model: unknown option %s; the head of model.cpp has them all\n", words[at]);
            std::exit(2);
        }
        ++at;
    }
    return settings;
}

} // namespace

int main(int count, char **words) {
    const Settings settings = settings_of(count, words);
    auto cases = reap::test::all_cases();
    std::erase_if(cases, [&](const auto &one) { return one.name.find(settings.only) == std::string::npos; });
    if (settings.list) {
        for (const auto &one : cases) std::puts(one.name.c_str());
        return 0;
    }
    if (cases.empty()) {
        std::fprintf(stderr, "model: no case is named like %s; --list names them\n", settings.only.c_str());
        return 2;
    }
    for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT}) std::signal(number, tell_and_die);

    const std::uint64_t each = (settings.operations + cases.size() - 1) / cases.size();
    std::uint64_t done = 0;
    int failed = 0;
    const auto start = std::chrono::steady_clock::now();
    for (const auto &one : cases) {
        const auto begin = std::chrono::steady_clock::now();
        std::uint64_t operations = 0;
        std::string wrong;
        // Life by life, so that a crash can be told by its seed.
        for (std::uint64_t life = settings.seed; operations < each && wrong.empty(); ++life) {
            std::snprintf(running, sizeof running,
                          "\nmodel: a crash; again by --only %s --seed %" PRIu64 " --operations 1\n",
                          one.name.c_str(), life);
            if (const auto finding = reap::testkit::check(one.make, life, 1)) wrong = finding->to_string();
            operations += reap::testkit::life_of(life).size();
        }
        done += operations;
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        std::printf("%-32s %12" PRIu64 " operations from seed %" PRIu64 " %8.2f s  %s\n", one.name.c_str(),
                    operations, settings.seed, took.count(), wrong.empty() ? "right" : "WRONG");
        if (!wrong.empty()) std::printf("%s\n", wrong.c_str());
        failed += !wrong.empty();
        std::fflush(stdout);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    std::printf("%" PRIu64 " operations, %zu cases, %d wrong, %.1f s\n", done, cases.size(), failed,
                took.count());
    return failed == 0 ? 0 : 1;
}
