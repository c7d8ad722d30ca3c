// Programs whose time is their own work: with the blocks where glibc puts them, or wherever they are.
#include "modes.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

// Items of a list, made in turn with notes that are hardly read: they lie a note apart. Scanned many times.
// Cured, items are in a pool of their own.
void list(double scale) {
    struct Item {
        Item *next;
        std::uint64_t value;
    };
    enum { ITEMS = 60000 };
    Item *const pool = cured ? new Item[ITEMS] : nullptr;
    std::vector<std::unique_ptr<char[]>> notes(ITEMS);
    Item *first = nullptr;
    for (std::size_t at = 0; at < ITEMS; at++) {
        notes[at].reset(new char[200]);
        notes[at][0] = 1;
        first = new (cured ? &pool[at] : ::operator new(sizeof(Item))) Item{first, at};
    }
    std::uint64_t sum = 0;
    for (long scan = static_cast<long>(1400 * scale); scan > 0; scan--)
        for (const Item *item = first; item != nullptr; item = item->next) sum += item->value;
    std::printf("%lu\n", sum);
    while (!cured && first != nullptr) {
        const Item *const item = first;
        first = item->next;
        delete item;
    }
    delete[] pool;
}

// Columns of just under a megabyte, filled row by row: each is a mapping of its own, and all rows fall on the
// same few lines of the processor's cache. Cured, each column begins a line further.
void columns(double scale) {
    enum { COLUMNS = 96, BYTES = (1 << 20) - 64, ROWS = 4000 };
    std::vector<std::unique_ptr<char[]>> memory(COLUMNS);
    std::vector<float *> column(COLUMNS);
    for (std::size_t at = 0; at < COLUMNS; at++) {
        memory[at].reset(new char[BYTES + (cured ? 64 * COLUMNS : 0)]);
        column[at] = reinterpret_cast<float *>(memory[at].get() + (cured ? 64 * at : 0));
    }
    double sum = 0;
    for (long pass = static_cast<long>(200 * scale); pass > 0; pass--)
        for (int row = 0; row < ROWS; row++)
            for (float *each : column) each[row] = static_cast<float>(row + pass);
    for (const float *each : column) sum += static_cast<double>(each[ROWS - 1]);
    std::printf("%.0f\n", sum);
}

// A tree of small nodes beside the text of each, searched all the time. Cured, keys are in a sorted array.
void tree(double scale) {
    enum { KEYS = 60000 };
    std::map<std::uint64_t, std::unique_ptr<std::string>> nodes;
    std::vector<std::uint64_t> sorted;
    std::uint64_t state = 1, sum = 0;
    for (std::uint64_t at = 0; at < KEYS; at++) {
        const std::uint64_t key = next_number(&state) % 1000000;
        if (cured)
            sorted.push_back(key);
        else
            nodes.emplace(key, std::make_unique<std::string>(300, 'x'));
    }
    std::sort(sorted.begin(), sorted.end());
    for (long turn = static_cast<long>(1000000 * scale); turn > 0; turn--) {
        const std::uint64_t key = next_number(&state) % 1000000;
        if (cured) {
            const auto found = std::lower_bound(sorted.begin(), sorted.end(), key);
            sum += found == sorted.end() ? 0 : *found;
        } else {
            const auto found = nodes.lower_bound(key);
            sum += found == nodes.end() ? 0 : found->first;
        }
    }
    std::printf("%lu\n", sum);
}

// A sparse matrix times a vector. There is no text to parse, and nothing is allocated.
struct SparseMatrix {
    std::vector<std::size_t> start, column;
    std::vector<double> value;

    [[gnu::noinline]] void multiply(const std::vector<double> &by, std::vector<double> &product) const {
        for (std::size_t row = 0; row + 1 < start.size(); row++) {
            double sum = 0;
            for (std::size_t at = start[row]; at < start[row + 1]; at++) sum += value[at] * by[column[at]];
            product[row] = sum;
        }
    }
};

void sparse(double scale) {
    enum { ROWS = 40000, EACH = 20 };
    SparseMatrix matrix;
    std::uint64_t state = 1;
    for (int row = 0; row < ROWS; row++) {
        matrix.start.push_back(matrix.value.size());
        for (int at = 0; at < EACH; at++) {
            matrix.column.push_back(next_number(&state) % ROWS);
            matrix.value.push_back(0.005 * at);
        }
    }
    matrix.start.push_back(matrix.value.size());
    std::vector<double> vector(ROWS, 1), product(ROWS);
    for (long turn = static_cast<long>(250 * scale); turn > 0; turn--) {
        matrix.multiply(vector, product);
        vector.swap(product);
        for (auto &each : vector) each = each > 1e6 ? 1 : each;
    }
    std::printf("%g\n", vector[7]);
}

// Operations on vectors of half a megabyte to sixteen, each of which makes its result. Cured, the results of
// the last operation are used again.
void polynomials(double scale) {
    using Polynomial = std::vector<std::uint64_t>;
    const auto add = [](const Polynomial &one, const Polynomial &two, Polynomial &sum) {
        for (std::size_t at = 0; at < one.size(); at++) sum[at] = one[at] + two[at];
    };
    Polynomial kept[6][4];
    std::uint64_t sum = 0;
    for (long turn = 0; turn < static_cast<long>(60 * scale); turn++) {
        const std::size_t size = std::size_t{64 * 1024} << (turn % 6);
        Polynomial made[4];
        Polynomial *const each = cured ? kept[turn % 6] : made;
        for (int at = 0; at < 4; at++)
            if (each[at].empty()) each[at] = Polynomial(size, static_cast<std::uint64_t>(at) + 1);
        add(each[0], each[1], each[2]);
        add(each[2], each[0], each[3]);
        sum += each[3][size / 2];
    }
    std::printf("%lu\n", sum);
}

// A vector that is asked to hold one more before each insertion, and copies itself each time. Cured, it is
// not asked.
void reserve(double scale) {
    struct Row {
        std::uint64_t key;
        double value[3];
        std::string name;
    };
    std::uint64_t sum = 0;
    for (long turn = static_cast<long>(8 * scale); turn > 0; turn--) {
        std::vector<Row> rows;
        for (std::uint64_t key = 0; key < 3000; key++) {
            if (!cured) rows.reserve(rows.size() + 1);
            rows.push_back(Row{key, {1, 2, 3}, "n"});
        }
        sum += rows.size() + rows.back().key;
    }
    std::printf("%lu\n", sum);
}

// Words are counted under a name that is made for each, of which few are new. Cured, the name is made in a
// buffer that stays.
std::map<std::string, int, std::less<>> counts;

[[gnu::noinline]] void count_word(const char *word, std::string &buffer) {
    if (cured) {
        buffer.assign(word).append("_with_a_long_suffix");
        const auto found = counts.find(buffer);
        if (found != counts.end())
            ++found->second;
        else
            counts.emplace(buffer, 1);
        return;
    }
    ++counts[std::string(word) + "_with_a_long_suffix"];
}

void words(double scale) {
    std::string buffer;
    char word[32];
    for (long turn = 0; turn < static_cast<long>(2500000 * scale); turn++) {
        std::snprintf(word, sizeof word, "w%ld", turn % 900);
        count_word(word, buffer);
    }
    std::uint64_t sum = 0;
    for (const auto &[name, count] : counts) sum += name.size() * static_cast<std::uint64_t>(count);
    std::printf("%lu\n", sum);
}

} // namespace

namespace json {

// What is made for one document. Cured, one region that is emptied at its end.
struct Arena {
    std::vector<std::unique_ptr<char[]>> chunks;
    std::size_t chunk = 0, used = 0;
    enum { CHUNK = 1 << 20 };

    void *take(std::size_t size) {
        size = (size + 15) / 16 * 16;
        if (chunks.empty() || used + size > CHUNK) {
            chunk += chunks.empty() ? 0 : 1;
            used = 0;
            if (chunk >= chunks.size()) chunks.emplace_back(new char[CHUNK]);
        }
        used += size;
        return chunks[chunk].get() + used - size;
    }

    void clear() { chunk = used = 0; }
};

Arena arena;

template <typename Type>
struct Allocator {
    using value_type = Type;
    Allocator() = default;
    template <typename Other>
    Allocator(const Allocator<Other> &) {}
    Type *allocate(std::size_t count) {
        const std::size_t size = count * sizeof(Type);
        return static_cast<Type *>(cured ? arena.take(size) : ::operator new(size));
    }
    void deallocate(Type *block, std::size_t) {
        if (!cured) ::operator delete(block);
    }
    bool operator==(const Allocator &) const { return true; }
};

using Text = std::basic_string<char, std::char_traits<char>, Allocator<char>>;

struct Value {
    Text name, text;
    std::vector<Value, Allocator<Value>> members;
};

// Reads lists, texts and numbers: enough for the document below.
struct Parser {
    const char *at;

    [[gnu::noinline]] Value value() {
        Value read;
        if (*at == '[' || *at == '{') {
            const char close = *at++ == '[' ? ']' : '}';
            while (*at != close) {
                Text name;
                if (close == '}') {
                    name = text();
                    at++; // the colon
                }
                read.members.push_back(value());
                read.members.back().name = std::move(name);
                at += *at == ',';
            }
            at++;
        } else if (*at == '"') {
            read.text = text();
        } else {
            while (*at != ',' && *at != ']' && *at != '}') read.text.push_back(*at++);
        }
        return read;
    }

    Text text() {
        const char *const begin = ++at;
        while (*at != '"') at++;
        return Text(begin, at++);
    }
};

// A document is read and dropped, again and again.
void document(double scale) {
    std::string written = "[";
    for (int at = 0; at < 6000; at++)
        written += std::string(at ? "," : "") + "{\"id\":" + std::to_string(at) +
                   ",\"name\":\"somebody_called_" + std::to_string(at) +
                   "\",\"active\":true,\"tags\":[\"one\",\"two\",\"a tag of some length\"]}";
    written += "]";
    std::uint64_t sum = 0;
    for (long turn = static_cast<long>(80 * scale); turn > 0; turn--) {
        {
            const Value read = Parser{written.c_str()}.value();
            for (const auto &each : read.members)
                sum += each.members[3].members.size() + each.members[1].text.size();
        }
        arena.clear();
    }
    std::printf("%lu\n", sum);
}

// Trees of small nodes are built and dropped. Cured, the nodes come from a region.
void store(double scale) {
    struct Node;
    using Key = const int;
    using Nodes = std::map<int, Node, std::less<>, Allocator<std::pair<Key, Node>>>;
    struct Node {
        Text text;
        std::unique_ptr<Nodes> members;
    };
    std::uint64_t sum = 0;
    for (long turn = static_cast<long>(40 * scale); turn > 0; turn--) {
        {
            Nodes root;
            for (int at = 0; at < 20000; at++) {
                auto &branch = root[at % 997];
                if (!branch.members) branch.members = std::make_unique<Nodes>();
                (*branch.members)[at].text.assign(static_cast<std::size_t>(20 + at % 30), 'x');
            }
            sum += root.size() + root.begin()->second.members->size();
        }
        arena.clear();
    }
    std::printf("%lu\n", sum);
}

} // namespace json

int main(int count, char **words_given) {
    static const mode modes[] = {{"list", list},     {"columns", columns},         {"tree", tree},
                                 {"sparse", sparse}, {"polynomials", polynomials}, {"reserve", reserve},
                                 {"words", words},   {"document", json::document}, {"store", json::store}};
    return run_mode(modes, std::size(modes), count, words_given);
}
