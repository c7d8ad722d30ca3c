// Looks words up, as argv[1] says: by a temporary of one line, or otherwise.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

using Words = std::map<std::string, int, std::less<>>;

__attribute__((noinline)) static void line(Words &words, const char *word) {
    ++words[std::string(word) + "_with_a_long_suffix"];
}

// The cure: one buffer for all calls.
__attribute__((noinline)) static void reused(Words &words, const char *word) {
    static std::string key;
    key.assign(word);
    key.append("_with_a_long_suffix");
    const auto found = words.find(key);
    if (found != words.end()) {
        ++found->second;
    } else {
        words.emplace(key, 1);
    }
}

// Objects of one line that stay.
__attribute__((noinline)) static void kept(Words &words, int i) {
    words.emplace(std::to_string(i) + "_with_a_long_suffix_that_stays", i);
}

// Temporaries of as many lines as there are.
__attribute__((noinline)) static void spread(int i) {
    void *volatile block = nullptr;
    switch (i % 4) {
    case 0:
        block = malloc(100);
        break;
    case 1:
        block = malloc(110);
        break;
    case 2:
        block = malloc(120);
        break;
    default:
        block = malloc(130);
        break;
    }
    free(block);
}

// A buffer that a realloc makes larger: its blocks end as temporaries do.
__attribute__((noinline)) static void grown() {
    void *volatile buffer = nullptr;
    for (size_t size = 16; size < (1 << 20); size *= 2) buffer = realloc(buffer, size);
    free(buffer);
}

int main(int count, char **arguments) {
    const std::string mode = count > 1 ? arguments[1] : "";
    const int calls = count > 2 ? atoi(arguments[2]) : 30000;
    Words words;
    char word[32];
    for (int i = 0; i < calls; ++i) {
        snprintf(word, sizeof word, "w%d", i % 90);
        if (mode == "line") line(words, word);
        if (mode == "reused") reused(words, word);
        if (mode == "kept") kept(words, i);
        if (mode == "spread") spread(i);
        if (mode == "grown" && i % 16 == 0) grown();
    }
    return words.size() > 1000000;
}
