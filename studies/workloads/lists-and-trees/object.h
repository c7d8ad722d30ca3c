#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "common/workload.h"
#include "memory.h"

// What lists and trees hold: texts of various lengths, and structures of numbers, each a block of its own.

/// The head of a block; behind it are the letters or the numbers.
struct Object {
    std::uint32_t size; ///< of what is behind, in bytes
    bool text;

    [[nodiscard]] char *letters() { return reinterpret_cast<char *>(this + 1); }
    [[nodiscard]] const char *letters() const { return reinterpret_cast<const char *>(this + 1); }
    [[nodiscard]] std::size_t whole() const { return sizeof(Object) + size; }
};

using Word = std::uint64_t;

/// A text of up to so many letters, or a structure of 2 to 16 numbers.
inline Object *make_object(workload::Random &random, std::size_t longest) {
    const bool text = random.percent(50);
    const std::size_t size = text ? 1 + random.below(longest) : sizeof(Word) * (2 + 2 * random.below(8));
    auto *const object = static_cast<Object *>(allocate(sizeof(Object) + size));
    object->size = static_cast<std::uint32_t>(size);
    object->text = text;
    char *const at = object->letters();
    for (std::size_t done = 0; done < size; done += sizeof(Word)) {
        Word word = random.next();
        if (text) word = (word & 0x0f0f0f0f0f0f0f0fU) | 0x6060606060606060U; // small letters, or nearly
        std::memcpy(at + done, &word, size - done < sizeof word ? size - done : sizeof word);
    }
    return object;
}

inline void free_object(Object *object) { release(object, object->whole()); }

/// A text's letters are of either case.
inline constexpr Word other_case = 0x2020202020202020U;

/// Goes through the words of an object; the last of a text may be less than whole.
template <class Block, class Each>
Word each_word(Block *object, Each each) {
    Word sum = 0;
    auto *const at = object->letters();
    for (std::size_t done = 0; done < object->size; done += sizeof(Word)) {
        const std::size_t bytes = object->size - done < sizeof(Word) ? object->size - done : sizeof(Word);
        sum += each(at + done, bytes);
    }
    return sum;
}

/// The sum of what it holds, whatever the case of its letters.
inline Word read(const Object *object) {
    const bool text = object->text;
    return each_word(object, [text](const char *at, std::size_t bytes) {
        Word word = 0;
        std::memcpy(&word, at, bytes);
        return text ? word | other_case : word;
    });
}

/// The same sum as it was before `time` changes, and changes it once more: numbers count up, letters change
/// their case.
inline Word read_and_modify(Object *object, Word time) {
    const bool text = object->text;
    return each_word(object, [text, time](char *at, std::size_t bytes) {
        Word word = 0;
        std::memcpy(&word, at, bytes);
        const Word next = text ? word ^ other_case : word + 1;
        std::memcpy(at, &next, bytes);
        return text ? word | other_case : word - time;
    });
}

/// Structures before texts; each by what they hold.
struct ByContent {
    bool operator()(const Object *one, const Object *other) const {
        if (one->text != other->text) return other->text;
        const std::size_t common = one->size < other->size ? one->size : other->size;
        const int order = std::memcmp(one->letters(), other->letters(), common);
        return order != 0 ? order < 0 : one->size < other->size;
    }
};
