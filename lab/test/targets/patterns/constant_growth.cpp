// Fills buffers that grow as argv[1] says.
#include <cstdlib>
#include <string>
#include <vector>

struct Row {
    long key;
    double value[3];
};

__attribute__((noinline)) static void reserve(std::vector<Row> &rows) {
    rows.reserve(rows.size() + 1);
    rows.push_back({});
}

// The cure.
__attribute__((noinline)) static void doubling(std::vector<Row> &rows) { rows.push_back({}); }

struct Text {
    char *bytes = nullptr;
    size_t size = 0;
};

__attribute__((noinline)) static void lengthen(Text &text) {
    text.size += 48;
    text.bytes = static_cast<char *>(realloc(text.bytes, text.size));
}

// A small block beside each that is longer.
__attribute__((noinline)) static void note() {
    void *volatile block = malloc(40);
    free(block);
}

// The same sizes, each freed before the next is allocated.
__attribute__((noinline)) static void one_by_one(size_t size) {
    void *volatile block = malloc(size);
    free(block);
}

// A text and the same with a head, of any sizes: the first is freed when the second is there.
__attribute__((noinline)) static void with_head(size_t size) {
    void *volatile text = malloc(size);
    void *volatile whole = malloc(size + 48);
    free(text);
    free(whole);
}

int main(int count, char **arguments) {
    const std::string mode = count > 1 ? arguments[1] : "";
    const int rounds = count > 2 ? atoi(arguments[2]) : 4;
    for (int round = 0; round < rounds; ++round) {
        std::vector<Row> rows;
        std::vector<Row> others;
        Text text;
        for (size_t i = 1; i <= 2000; ++i) {
            if (mode == "reserve" || mode == "in-turn") reserve(rows);
            if (mode == "in-turn") reserve(others);
            if (mode == "doubling") doubling(rows);
            if (mode == "realloc" || mode == "noted") lengthen(text);
            if (mode == "noted") note();
            if (mode == "one-by-one") one_by_one(48 * i);
            if (mode == "with-head") with_head(48 * (1 + i * 7919 % 2000));
        }
        free(text.bytes);
    }
    return 0;
}
