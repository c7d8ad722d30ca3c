// Programs with lives of the kinds that are hard to sample:
//
//     lives vectors | cache | batches
//
// vectors: many that grow by turns, each step a new block and a copy. cache: a table whose entries live long,
// some of which are asked for again and again, beside requests that live short. batches: all objects of a
// round are used for the last time at once. Says a number that depends on all of it.
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace {

std::mt19937 random_numbers(1);

unsigned below(unsigned limit) { return static_cast<unsigned>(random_numbers() % limit); }

long vectors() {
    long total = 0;
    for (int round = 0; round < 40; ++round) {
        std::vector<std::vector<int>> many(2000);
        for (int i = 0; i < 300'000; ++i) many[below(2000)].push_back(i);
        for (int i = 0; i < 200; ++i) total += many[below(2000)][0];
    }
    return total;
}

long cache() {
    long total = 0;
    std::vector<std::unique_ptr<std::string>> kept(20'000);
    for (int i = 0; i < 1'500'000; ++i) {
        const auto request = std::make_unique<std::string>(30 + below(90), 'r');
        // A few are asked for often, most never again.
        auto &entry = kept[below(4) != 0 ? below(400) : below(20'000)];
        if (entry == nullptr || below(60) == 0) {
            entry = std::make_unique<std::string>(100 + below(300), 'e');
        } else {
            total += (*entry)[7];
        }
        total += (*request)[3];
    }
    return total;
}

long batches() {
    long total = 0;
    for (int round = 0; round < 30; ++round) {
        std::vector<std::unique_ptr<std::string>> all;
        all.reserve(20'000);
        for (int i = 0; i < 20'000; ++i) all.push_back(std::make_unique<std::string>(40 + below(60), 'b'));
        for (const auto &each : all) total += (*each)[1];
        std::vector<std::unique_ptr<std::string>> later;
        later.reserve(20'000);
        for (int i = 0; i < 20'000; ++i) later.push_back(std::make_unique<std::string>(60, 'l'));
        total += static_cast<long>(later.size());
    }
    return total;
}

} // namespace

int main(int argc, char **argv) {
    const char *kind = argc == 2 ? argv[1] : "";
    long total = 0;
    if (strcmp(kind, "vectors") == 0) {
        total = vectors();
    } else if (strcmp(kind, "cache") == 0) {
        total = cache();
    } else if (strcmp(kind, "batches") == 0) {
        total = batches();
    } else {
        return 2;
    }
    std::printf("%ld\n", total);
}
