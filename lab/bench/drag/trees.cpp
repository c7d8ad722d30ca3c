// A C++ program that allocates much: strings in a map of vectors, trees that are built, walked and dropped,
// and a sort of strings; all of it N times (`trees N`), or once. Its memory is in small objects. Says a
// number that depends on all of it.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace {

struct Node {
    std::unique_ptr<Node> left;
    std::unique_ptr<Node> right;
    int value;
};

std::unique_ptr<Node> tree(int depth) {
    auto node = std::make_unique<Node>();
    node->value = depth;
    if (depth > 0) {
        node->left = tree(depth - 1);
        node->right = tree(depth - 1);
    }
    return node;
}

long sum(const Node *node) {
    return node != nullptr ? node->value + sum(node->left.get()) + sum(node->right.get()) : 0;
}

long once() {
    long total = 0;
    std::mt19937 random(1);
    std::map<std::string, std::vector<int>> places;
    for (int i = 0; i < 300'000; ++i) places["key-number-" + std::to_string(random() % 50'000)].push_back(i);
    for (int round = 0; round < 60; ++round) {
        const auto whole = tree(14);
        for (int again = 0; again < 3; ++again) total += sum(whole.get());
    }
    for (const auto &[key, found] : places) {
        for (const int place : found) total += place;
    }
    std::vector<std::string> words;
    for (int i = 0; i < 200'000; ++i)
        words.emplace_back(20 + random() % 100, 'a' + static_cast<char>(random() % 26));
    std::sort(words.begin(), words.end());
    return total + static_cast<long>(words[77].size());
}

} // namespace

int main(int argc, char **argv) {
    long total = 0;
    for (long left = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 1; left > 0; --left) total += once();
    std::printf("%ld\n", total);
}
