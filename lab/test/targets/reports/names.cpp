// Names that tell nothing of the cause: programs rebuilt from public reports, see
// ../../truth/reports_names.py.
#include "reports.h"

#include <complex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using reports::cured, reports::next_number;

// Memory of one document: malloc's, or cured, a region that is emptied as a whole.
namespace {

std::size_t region_left;
char *region_at;

void *take(std::size_t size) {
    if (!cured) return std::malloc(size);
    size = (size + 15) & ~std::size_t{15};
    if (region_left < size) std::abort();
    region_left -= size;
    return std::exchange(region_at, region_at + size);
}

void give(void *block) {
    if (!cured) std::free(block);
}

void empty_region() {
    constexpr std::size_t SIZE = 16 << 20;
    static char *const all = cured ? static_cast<char *>(std::malloc(SIZE)) : nullptr;
    region_at = all;
    region_left = SIZE;
}

} // namespace

namespace json {

// A value with its text and its members: a block each.
struct Value {
    Value *first = nullptr, *next = nullptr;
    char *text = nullptr;
    std::uint64_t number = 0;

    static void *operator new(std::size_t size) { return take(size); }
    static void operator delete(void *block) { give(block); }
    [[gnu::noinline]] ~Value() {
        for (Value *member = first; member != nullptr;) delete std::exchange(member, member->next);
        give(text);
    }
};

[[gnu::noinline]] Value *make(std::uint64_t &state, int depth) {
    auto *value = new Value;
    const std::size_t length = 24 + next_number(state) % 40;
    value->text = static_cast<char *>(take(length));
    std::memset(value->text, static_cast<int>(length), length);
    value->number = length;
    for (int member = 0; depth > 0 && member < 8; member++) {
        Value *made = make(state, depth - 1);
        made->next = value->first;
        value->first = made;
        value->number += made->number;
    }
    return value;
}

// A document of 37,449 values is made and dropped.
void destroy(double scale) {
    std::uint64_t sum = 0, state = 1;
    for (long turn = static_cast<long>(240 * scale); turn > 0; turn--) {
        empty_region();
        const Value *document = make(state, 5);
        sum += document->number;
        delete document;
    }
    std::printf("%lu\n", sum);
}

} // namespace json

namespace xml {

// A tree of nodes that lives only until it is written into one compact array.
struct Node {
    Node *first = nullptr, *last = nullptr, *next = nullptr;
    std::string_view name;
    char *text = nullptr;
};

std::string source() {
    std::string text;
    std::uint64_t state = 1;
    for (int item = 0; item < 4000; item++) {
        text += "<item><name>";
        for (auto count = 4 + next_number(state) % 5; count > 0; count--) text += "ab";
        text += "</name><size>" + std::to_string(next_number(state)) + "</size></item>";
    }
    return text;
}

[[gnu::noinline]] Node *parse_node(std::string_view text, std::size_t &at) {
    auto *node = new (take(sizeof(Node))) Node;
    const std::size_t end = text.find('>', at);
    node->name = text.substr(at + 1, end - at - 1);
    for (at = end + 1; text[at] != '<' || text[at + 1] != '/';) {
        if (text[at] == '<') {
            Node *child = parse_node(text, at);
            (node->last ? node->last->next : node->first) = child;
            node->last = child;
        } else {
            const std::size_t stop = text.find('<', at);
            node->text = static_cast<char *>(take(stop - at + 1));
            std::memcpy(node->text, &text[at], stop - at);
            node->text[stop - at] = 0;
            at = stop;
        }
    }
    at = text.find('>', at) + 1;
    return node;
}

[[gnu::noinline]] std::uint64_t write(const Node *node) {
    std::uint64_t sum = node->name.size() + (node->text ? static_cast<unsigned char>(node->text[0]) : 0);
    for (const Node *child = node->first; child; child = child->next) sum += write(child);
    return sum;
}

[[gnu::noinline]] void free_tree(Node *node) {
    for (Node *child = node->first; child;) free_tree(std::exchange(child, child->next));
    give(node->text);
    give(node);
}

void build(double scale) {
    const std::string text = "<items>" + source() + "</items>";
    std::uint64_t sum = 0;
    for (long turn = static_cast<long>(1200 * scale); turn > 0; turn--) {
        empty_region();
        std::size_t at = 0;
        Node *tree = parse_node(text, at);
        sum += write(tree);
        free_tree(tree);
    }
    std::printf("%lu\n", sum);
}

} // namespace xml

namespace {

// Which entries a matrix will have: inserted cell by cell into vectors that grow. Cured, they are reserved.
struct SparsityPattern {
    std::vector<int> rows, columns;

    [[gnu::noinline]] void insert(int cell) {
        for (int row = 0; row < 4; row++)
            for (int column = 0; column < 4; column++) {
                rows.push_back(cell + row);
                columns.push_back(cell + column);
            }
    }
};

void sparsity(double scale) {
    constexpr int CELLS = 100000;
    std::uint64_t sum = 0;
    SparsityPattern kept;
    for (long turn = static_cast<long>(50 * scale); turn > 0; turn--) {
        SparsityPattern fresh, &pattern = cured ? kept : fresh;
        pattern.rows.clear();
        pattern.columns.clear();
        for (int cell = 0; cell < CELLS; cell++) pattern.insert(cell);
        sum += static_cast<std::uint64_t>(pattern.rows[pattern.rows.size() / 2]) + pattern.columns.size();
    }
    std::printf("%lu\n", sum);
}

// Numbers with two parts, multiplied with all checks for what is not finite. Cured, without these checks.
struct ComplexMixer {
    std::vector<std::complex<float>> signal, carrier;

    [[gnu::noinline]] void mix() {
        for (std::size_t at = 0; at < signal.size(); at++) signal[at] *= carrier[at];
    }
    [[gnu::noinline]] void mix_finite() {
        for (std::size_t at = 0; at < signal.size(); at++) {
            const float real = signal[at].real(), imaginary = signal[at].imag();
            const float other = carrier[at].real(), turned = carrier[at].imag();
            signal[at] = {real * other - imaginary * turned, real * turned + imaginary * other};
        }
    }
};

void complex(double scale) {
    ComplexMixer mixer{std::vector<std::complex<float>>(20000, {1, 0}), {}};
    for (int at = 0; at < 20000; at++)
        mixer.carrier.push_back(std::polar(1.0F, static_cast<float>(at % 628) / 100));
    for (long turn = static_cast<long>(25000 * scale); turn > 0; turn--)
        cured ? mixer.mix_finite() : mixer.mix();
    std::printf("%.2f\n", static_cast<double>(std::abs(mixer.signal[77])));
}

// Splits text into words. Each is a string of its own; cured, a view.
struct Lexer {
    std::string_view text;
    std::size_t at = 0;

    bool next(std::string_view &token) {
        while (at < text.size() && text[at] == ' ') at++;
        const std::size_t begin = at;
        while (at < text.size() && text[at] != ' ') at++;
        token = text.substr(begin, at - begin);
        return !token.empty();
    }
};

template <typename Token>
[[gnu::noinline]] std::uint64_t lex(const std::string &text) {
    Lexer lexer{text};
    std::vector<Token> tokens;
    tokens.reserve(20000);
    for (std::string_view token; lexer.next(token);) tokens.emplace_back(token);
    std::uint64_t sum = 0;
    for (const Token &token : tokens) sum += token.size() + static_cast<unsigned char>(token[0]);
    return sum;
}

void tokens(double scale) {
    std::string text;
    std::uint64_t state = 1, sum = 0;
    for (int word = 0; word < 20000; word++) text += std::string(17 + next_number(state) % 20, 'v') + ' ';
    for (long turn = static_cast<long>(400 * scale); turn > 0; turn--)
        sum += cured ? lex<std::string_view>(text) : lex<std::string>(text);
    std::printf("%lu\n", sum);
}

} // namespace

int main(int count, char **words) {
    static constexpr reports::Program PROGRAMS[] = {
        {"json-destroy", json::destroy},
        {"xml-build", xml::build},
        {"sparsity", sparsity},
        {"complex", complex},
        {"tokens", tokens},
    };
    return reports::choose(PROGRAMS, count, words);
}
