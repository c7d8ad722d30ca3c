#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "common/workload.h"

// What the chart parser reads: a grammar, words, and sentences that are drawn from both by chance.

enum Symbol : std::uint8_t {
    // of parts of a sentence
    Sentence,
    Clause,
    NounPhrase,
    Nominal,
    VerbPhrase,
    PrepositionPhrase,
    Relative,
    AndNoun,
    AndVerb,
    // of words
    Determiner,
    Adjective,
    Noun,
    Name,
    Verb,
    Preposition,
    That,
    And,
    Adverb,
    symbols // how many there are
};

/// What two neighbours make.
struct Rule {
    Symbol whole, left, right;
    int price; // of using it; the best reading is the cheapest
};

inline constexpr Rule rules[] = {
    {Sentence, NounPhrase, VerbPhrase, 0},
    {Sentence, Sentence, PrepositionPhrase, 7},
    {NounPhrase, Determiner, Nominal, 0},
    {NounPhrase, Determiner, Noun, 0},
    {NounPhrase, NounPhrase, PrepositionPhrase, 4},
    {NounPhrase, NounPhrase, Relative, 5},
    {NounPhrase, NounPhrase, AndNoun, 6},
    {NounPhrase, Name, AndNoun, 5},
    {NounPhrase, Name, PrepositionPhrase, 6},
    {Nominal, Adjective, Noun, 1},
    {Nominal, Adjective, Nominal, 1},
    {Nominal, Noun, Noun, 6},
    {Nominal, Nominal, Noun, 5},
    {VerbPhrase, Verb, NounPhrase, 0},
    {VerbPhrase, Verb, Name, 0},
    {VerbPhrase, VerbPhrase, PrepositionPhrase, 3},
    {VerbPhrase, VerbPhrase, Adverb, 1},
    {VerbPhrase, Adverb, VerbPhrase, 2},
    {VerbPhrase, VerbPhrase, AndVerb, 6},
    {VerbPhrase, Verb, Clause, 4},
    {PrepositionPhrase, Preposition, NounPhrase, 0},
    {PrepositionPhrase, Preposition, Name, 0},
    {PrepositionPhrase, Preposition, Noun, 5},
    {Relative, That, VerbPhrase, 1},
    {Relative, That, Sentence, 3},
    {Clause, That, Sentence, 1},
    {AndNoun, And, NounPhrase, 0},
    {AndNoun, And, Name, 0},
    {AndVerb, And, VerbPhrase, 0},
    {Sentence, Name, VerbPhrase, 0},
};

/// A word as it is spelled.
struct Word {
    char letters[12];
    [[nodiscard]] int compare(const char *other) const { return std::strcmp(letters, other); }
};

/// The word of that class and number: letters that only this one has.
inline Word spell(Symbol symbol, std::size_t number) {
    Word word{};
    auto rest = static_cast<std::uint32_t>(number * symbols + symbol) * 0x9e3779b1U; // odd, so each its own
    for (char *letter = word.letters; rest > 0; rest /= 20 * 5) {
        *letter++ = "bcdfghjklmnpqrstvwyz"[rest % 20];
        *letter++ = "aeiou"[rest / 20 % 5];
    }
    return word;
}

/// How many words there are of a class.
inline std::size_t words_of(Symbol symbol) {
    switch (symbol) {
    case Noun:
        return 40'000;
    case Verb:
        return 16'000;
    case Adjective:
        return 12'000;
    case Name:
        return 24'000;
    case Adverb:
        return 4'000;
    default:
        return 4;
    }
}

/// Draws sentences from the grammar itself, so that each has a reading.
class Writer {
  public:
    using Words = std::vector<Word>;
    static constexpr std::size_t shortest = 40;
    static constexpr std::size_t longest = 60;

    explicit Writer(std::uint64_t seed) : random_(seed) {}

    /// The words of a sentence. They hold until the next call.
    const Words &next() {
        do {
            words_.clear();
            write(Sentence, 0);
        } while (words_.size() < shortest || words_.size() > longest);
        return words_;
    }

  private:
    void write(Symbol symbol, int depth) {
        std::array<const Rule *, std::size(rules)> fitting{};
        std::size_t count = 0;
        for (const Rule &rule : rules)
            if (rule.whole == symbol) fitting[count++] = &rule;
        if (count == 0) {
            // Small numbers are more frequent, as words are.
            words_.push_back(spell(symbol, random_.below(1 + random_.below(words_of(symbol)))));
            return;
        }
        if (words_.size() > longest) return; // is thrown away
        // Deep down, the first rule, which does not hold its own symbol: sentences end.
        const Rule *const rule = depth > 7 ? fitting[0] : fitting[random_.below(count)];
        write(rule->left, depth + 1);
        write(rule->right, depth + 1);
    }

    workload::Random random_;
    Words words_;
};
