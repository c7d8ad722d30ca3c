// A parser of ambiguous English-like sentences: builds a chart of all constituents, counts the readings,
// finds the best, and samples others. The dictionary of words lives for the whole run, below all charts. It
// stands for 197.parser, the hybrid of both papers: stack-like memory, whose objects are freed individually,
// mostly in reverse order, without their sizes.
//
// The naive variant uses malloc and free directly (Table 4 of ISMM 2026). Scale: sentences.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include <reap/layer/stack_like.h>
#include <reap/source/malloc.h>

#include "common/workload.h"
#include "grammar.h"

namespace {

/// Stack-like memory, or malloc itself.
class Memory {
  public:
    explicit Memory(bool naive) : stack_({.size = naive ? 64 : std::size_t{256} << 20}), naive_(naive) {}

    void *allocate(std::size_t size) {
        void *const memory = naive_ ? std::malloc(size) : stack_.allocate(size);
        if (memory == nullptr) throw std::bad_alloc();
        return memory;
    }
    template <class T, class... Arguments>
    T *create(Arguments &&...arguments) {
        return ::new (allocate(sizeof(T))) T{std::forward<Arguments>(arguments)...};
    }
    void free(void *object) { naive_ ? std::free(object) : stack_.deallocate(object); }

  private:
    // One piece, as 197.parser has; address space until it is touched. From malloc, as in 197.parser.
    reap::StackLike<reap::Malloc> stack_;
    bool naive_;
};

struct Constituent;

/// One way to combine two constituents into one.
struct Reading {
    const Rule *rule;
    Constituent *left;
    Constituent *right;
    Reading *next;
};

/// The readings of adjacent words as one symbol, shared by all constituents that contain it.
struct Constituent {
    Symbol symbol;
    std::uint8_t start;
    std::uint8_t end;
    int price;           // of the cheapest reading
    std::uint64_t count; // of readings, modulo 2^64
    Reading *readings;   // none for a word
    const Reading *best;
    Constituent *next; // of the same words
};

/// A node of a chosen reading: the input of a later stage.
struct Node {
    Symbol symbol;
    std::uint8_t word;
    Node *left;
    Node *right;
};

/// The dictionary: a search tree by spelling, as in 197.parser.
class Dictionary {
  public:
    /// One class that a word can have, and what it costs to take it so.
    struct Sense {
        Symbol symbol;
        int price;
        Sense *next;
    };

    explicit Dictionary(Memory &memory) : memory_(memory) {
        for (const Symbol symbol : {Determiner, Adjective, Noun, Name, Verb, Preposition, That, And, Adverb})
            for (std::size_t number = 0; number < words_of(symbol); ++number) add(symbol, number);
    }
    Dictionary(const Dictionary &) = delete;
    Dictionary &operator=(const Dictionary &) = delete;
    ~Dictionary() { forget(root_); }

    /// Every word that a sentence can have is in here.
    [[nodiscard]] const Sense *find(const Word &word) const {
        const Entry *entry = root_;
        while (const int order = word.compare(entry->spelling))
            entry = order < 0 ? entry->left : entry->right;
        return entry->senses;
    }

  private:
    struct Entry {
        char *spelling;
        Sense *senses;
        Entry *left;
        Entry *right;
    };

    /// The class of its own, and at a price what such words often are as well.
    void add(Symbol symbol, std::size_t number) {
        static constexpr std::pair<Symbol, Symbol> also[] = {
            {Noun, Verb}, {Noun, Name},      {Noun, Adjective}, {Verb, Noun},        {Verb, Adjective},
            {Name, Noun}, {Adjective, Noun}, {Adjective, Name}, {Adverb, Adjective}, {Preposition, Adverb}};
        const Word word = spell(symbol, number);
        Entry **place = &root_;
        while (*place != nullptr)
            place = word.compare((*place)->spelling) < 0 ? &(*place)->left : &(*place)->right;
        const std::size_t size = std::strlen(word.letters) + 1;
        auto *const spelling = static_cast<char *>(memory_.allocate(size));
        std::memcpy(spelling, word.letters, size);
        *place = memory_.create<Entry>(spelling, nullptr, nullptr, nullptr);
        Sense **last = &(*place)->senses;
        const auto sense = [&](Symbol of, int price) {
            *last = memory_.create<Sense>(of, price, nullptr);
            last = &(*last)->next;
        };
        sense(symbol, static_cast<int>(number % 3));
        for (const auto &[from, to] : also)
            if (from == symbol) sense(to, 3 + static_cast<int>(number % 5));
    }
    void forget(Entry *entry) {
        if (entry == nullptr) return;
        forget(entry->right);
        forget(entry->left);
        for (Sense *sense = entry->senses; sense != nullptr;) memory_.free(std::exchange(sense, sense->next));
        memory_.free(entry->spelling);
        memory_.free(entry);
    }

    Memory &memory_;
    Entry *root_ = nullptr;
};

class Parser {
  public:
    Parser(Memory &memory, const Dictionary &dictionary) : memory_(memory), dictionary_(dictionary) {
        for (const Rule &rule : rules) of_pair_[rule.left][rule.right].push_back(&rule);
    }

    /// Builds the chart of a sentence; returns the constituent of the whole sentence, or null.
    Constituent *parse(const Writer::Words &words) {
        const std::size_t length = words.size();
        for (std::size_t end = 1; end <= length; ++end) {
            add_word(words[end - 1], end);
            for (std::size_t start = end - 1; start-- > 0;) {
                for (std::size_t middle = start + 1; middle < end; ++middle) combine(start, middle, end);
            }
        }
        return find(Sentence, 0, length);
    }

    /// Frees the chart, the last part first.
    void forget(std::size_t length) {
        for (std::size_t end = length; end > 0; --end) {
            for (std::size_t start = 0; start < end; ++start) {
                Constituent *of_span = std::exchange(chart_[start][end], nullptr);
                while (of_span != nullptr) {
                    Constituent *const constituent = of_span;
                    of_span = constituent->next;
                    for (Reading *reading = constituent->readings; reading != nullptr;) {
                        Reading *const next = reading->next;
                        memory_.free(reading);
                        reading = next;
                    }
                    memory_.free(constituent);
                }
            }
        }
        readings_ += std::exchange(readings_now_, 0);
    }

    /// The tree of the best reading, or of one chosen uniformly at random.
    Node *tree(const Constituent &constituent, workload::Random *random) {
        if (constituent.readings == nullptr)
            return memory_.create<Node>(constituent.symbol, constituent.start, nullptr, nullptr);
        const Reading *reading = constituent.best;
        if (random != nullptr) {
            reading = constituent.readings;
            std::uint64_t number = random->next() % std::max<std::uint64_t>(constituent.count, 1);
            while (reading->next != nullptr && number >= reading->left->count * reading->right->count) {
                number -= reading->left->count * reading->right->count;
                reading = reading->next;
            }
        }
        Node *const left = tree(*reading->left, random);
        Node *const right = tree(*reading->right, random);
        return memory_.create<Node>(constituent.symbol, constituent.start, left, right);
    }
    void forget(Node *node) {
        if (node == nullptr) return;
        forget(node->left);
        forget(node->right);
        memory_.free(node);
    }

    [[nodiscard]] std::size_t readings() const { return readings_; }

  private:
    void add_word(const Word &word, std::size_t end) {
        for (const Dictionary::Sense *sense = dictionary_.find(word); sense != nullptr; sense = sense->next) {
            chart_[end - 1][end] = memory_.create<Constituent>(
                sense->symbol, static_cast<std::uint8_t>(end - 1), static_cast<std::uint8_t>(end),
                sense->price, std::uint64_t{1}, nullptr, nullptr, chart_[end - 1][end]);
        }
    }

    void combine(std::size_t start, std::size_t middle, std::size_t end) {
        for (Constituent *left = chart_[start][middle]; left != nullptr; left = left->next) {
            for (Constituent *right = chart_[middle][end]; right != nullptr; right = right->next) {
                for (const Rule *rule : of_pair_[left->symbol][right->symbol])
                    add(*rule, start, end, *left, *right);
            }
        }
    }

    void add(const Rule &rule, std::size_t start, std::size_t end, Constituent &left, Constituent &right) {
        Constituent *whole = find(rule.whole, start, end);
        const int price = rule.price + left.price + right.price;
        if (whole == nullptr) {
            whole = chart_[start][end] = memory_.create<Constituent>(
                rule.whole, static_cast<std::uint8_t>(start), static_cast<std::uint8_t>(end), price,
                std::uint64_t{0}, nullptr, nullptr, chart_[start][end]);
        }
        whole->readings = memory_.create<Reading>(&rule, &left, &right, whole->readings);
        ++readings_now_;
        whole->count += left.count * right.count;
        if (whole->best == nullptr || price < whole->price) {
            whole->price = price;
            whole->best = whole->readings;
        }
    }

    Constituent *find(Symbol symbol, std::size_t start, std::size_t end) {
        Constituent *found = chart_[start][end];
        while (found != nullptr && found->symbol != symbol) found = found->next;
        return found;
    }

    Memory &memory_;
    const Dictionary &dictionary_;
    std::array<std::array<std::vector<const Rule *>, symbols>, symbols> of_pair_;
    std::array<std::array<Constituent *, Writer::longest + 1>, Writer::longest + 1> chart_{};
    std::size_t readings_ = 0;
    std::size_t readings_now_ = 0;
};

/// A hash of a tree's shape and symbols.
std::uint64_t number_of(const Node *node) {
    if (node == nullptr) return 1;
    const std::uint64_t left = number_of(node->left);
    const std::uint64_t right = number_of(node->right);
    return (left * 31 + right * 17 + node->symbol) * 0x9e3779b97f4a7c15U ^ node->word;
}

} // namespace

int main(int count, char **words) {
    workload::Options options{.scale = 15000};
    if (!workload::read(count, words, options)) return 2;
    Memory memory(options.naive);
    Writer writer(197);
    const Dictionary dictionary(memory);
    Parser parser(memory, dictionary);
    workload::Random random(2000);
    workload::Checksum checksum;
    for (std::size_t number = 0; number < options.scale; ++number) {
        const Writer::Words &sentence = writer.next();
        const Constituent *const whole = parser.parse(sentence);
        if (whole == nullptr) {
            std::fprintf(stderr, "%s: sentence %zu has no reading\n", words[0], number);
            return 1;
        }
        checksum.add(whole->count);
        checksum.add(whole->price);
        for (int drawn = 0; drawn <= 20; ++drawn) {
            Node *const tree = parser.tree(*whole, drawn == 0 ? nullptr : &random);
            checksum.add(number_of(tree));
            parser.forget(tree);
        }
        parser.forget(sentence.size());
    }
    std::printf("%zu sentences, %zu readings of parts\n", options.scale, parser.readings());
    workload::print(checksum);
}
