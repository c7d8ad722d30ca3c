#include "files/columns.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "reap_trace.h"

namespace reap::native {
namespace {

constexpr size_t kPositions = 5; // of a byte in a varint that have columns
enum class Field : uint8_t { Stamp, Bytes, Address, Freed, Stack, Rest, Place }; // the last is one byte
enum Column : uint8_t { kPlaces = 6 * kPositions, kTags, kLong, kSplit, kPlain, kUsed };
static_assert(static_cast<size_t>(Field::Place) * kPositions == kPlaces && kUsed <= kColumns);

struct Shape {
    uint8_t count = 0; // 0: no record has this tag
    Field fields[6] = {};
    bool packed = false; // its numbers are packed, not varints; a stamp has two bytes
};

// The fields of short records, by the low four bits of the tag.
constexpr std::array<Shape, 16> make_shapes() {
    using enum Field;
    std::array<Shape, 16> shapes{};
    shapes[REAP_TAG_ALLOC] = {4, {Stamp, Bytes, Address, Stack}};
    shapes[REAP_TAG_FREE] = {2, {Stamp, Freed}};
    shapes[REAP_TAG_REALLOC] = {6, {Stamp, Stamp, Freed, Address, Bytes, Stack}};
    shapes[REAP_TAG_ALIGNED] = {5, {Stamp, Bytes, Address, Stack, Rest}};
    shapes[REAP_TAG_FREE_SIZED] = {3, {Stamp, Freed, Rest}};
    shapes[REAP_TAG_FAILED] = {3, {Stamp, Bytes, Stack}};
    shapes[REAP_TAG_QUICK_ALLOC] = {3, {Bytes, Address, Stack}};
    shapes[REAP_TAG_QUICK_KNOWN] = {3, {Bytes, Address, Place}};
    shapes[REAP_TAG_QUICK_FREE] = {1, {Freed}};
    shapes[REAP_TAG_PACKED_MALLOC] = {3, {Bytes, Address, Place}, true};
    shapes[REAP_TAG_PACKED_FREE] = {1, {Freed}, true};
    shapes[REAP_TAG_TIMED_MALLOC] = {4, {Bytes, Address, Place, Stamp}, true};
    shapes[REAP_TAG_TIMED_FREE] = {2, {Freed, Stamp}, true};
    shapes[REAP_TAG_KEPT_ALLOC] = shapes[REAP_TAG_ALLOC];
    return shapes;
}
constexpr std::array<Shape, 16> kShapes = make_shapes();

constexpr size_t column_of(Field field, size_t position) {
    return static_cast<size_t>(field) * kPositions + std::min(position, kPositions - 1);
}

// Where the bytes of a piece come from, or go to: one cursor for each column. `Way::move(column)` moves the
// next byte of a column and returns it; after the last it makes itself bad and returns 0.
template <class Way>
bool move_varint(Way &way, size_t first, size_t last) {
    for (size_t at = first;; at = std::min(at + 1, last)) {
        if ((way.move(at) & 0x80) == 0 || !way.good()) return way.good();
    }
}

// A packed number, which has so many bytes behind the first.
template <class Way>
bool move_packed(Way &way, Field field, unsigned more) {
    for (unsigned at = 0; at <= more; ++at) way.move(column_of(field, at));
    return way.good();
}

// A long record: the length of the rest, and that.
template <class Way>
bool move_long(Way &way) {
    uint64_t length = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const unsigned char byte = way.move(kLong);
        length |= uint64_t{byte & 0x7fu} << shift;
        if ((byte & 0x80) == 0) return way.good() && way.move_all(kLong, length);
    }
    return false;
}

// All records of a block, up to its end; false where they cannot be read.
template <class Way>
bool move_records(Way &way) {
    while (!way.done()) {
        const unsigned char tag = way.move(kTags);
        if ((tag & 15) == 0) {
            if (!move_long(way)) return false;
            continue;
        }
        const Shape &shape = kShapes[tag & 15];
        if (shape.count == 0) return false;
        for (size_t i = 0; i < shape.count; ++i) {
            const Field field = shape.fields[i];
            if (field == Field::Place) {
                way.move(kPlaces);
            } else if (shape.packed) {
                const unsigned more = field == Field::Stamp ? 1 : unsigned{tag} >> (4 + 2 * i) & 3;
                if (!move_packed(way, field, more)) return false;
            } else if (!move_varint(way, column_of(field, 0), column_of(field, kPositions - 1))) {
                return false;
            }
        }
    }
    return way.good();
}

// From a block into columns.
class Splitter {
  public:
    Splitter(const unsigned char *begin, const unsigned char *end, Columns &columns)
        : at_(begin), end_(end), columns_(columns) {}

    [[nodiscard]] bool good() const noexcept { return good_; }
    [[nodiscard]] bool done() const noexcept { return at_ == end_ || !good_; }
    unsigned char move(size_t column) {
        if (at_ == end_) {
            good_ = false;
            return 0;
        }
        columns_[column].push_back(*at_);
        return *at_++;
    }
    bool move_all(size_t column, uint64_t length) {
        if (length > static_cast<uint64_t>(end_ - at_)) return false;
        columns_[column].insert(columns_[column].end(), at_, at_ + length);
        at_ += length;
        return true;
    }

  private:
    const unsigned char *at_;
    const unsigned char *end_;
    Columns &columns_;
    bool good_ = true;
};

// And back.
class Joiner {
  public:
    explicit Joiner(const Columns &columns) {
        for (size_t i = 0; i < kColumns; ++i) {
            left_[i] = {columns[i].data(), columns[i].data() + columns[i].size()};
        }
    }

    void begin(unsigned char *begin, unsigned char *end) {
        at_ = begin;
        end_ = end;
    }
    [[nodiscard]] bool good() const noexcept { return good_; }
    [[nodiscard]] bool done() const noexcept { return at_ == end_ || !good_; }
    unsigned char move(size_t column) {
        Left &left = left_[column];
        if (at_ == end_ || left.at == left.end) {
            good_ = false;
            return 0;
        }
        return *at_++ = *left.at++;
    }
    bool move_all(size_t column, uint64_t length) {
        Left &left = left_[column];
        good_ = good_ && length <= static_cast<uint64_t>(end_ - at_) &&
                length <= static_cast<uint64_t>(left.end - left.at);
        if (!good_) return false;
        at_ = std::copy_n(left.at, length, at_);
        left.at += length;
        return true;
    }
    [[nodiscard]] bool used_up() const noexcept {
        return std::all_of(left_.begin(), left_.end(), [](const Left &left) { return left.at == left.end; });
    }

  private:
    struct Left {
        const unsigned char *at = nullptr;
        const unsigned char *end = nullptr;
    };

    std::array<Left, kColumns> left_{};
    unsigned char *at_ = nullptr;
    unsigned char *end_ = nullptr;
    bool good_ = true;
};

// The bytes of records in a whole block of events; 0 for any other.
size_t records_of(const unsigned char *block, size_t length) {
    reap_block_header head{};
    if (length != REAP_BLOCK_BYTES) return 0;
    std::memcpy(&head, block, sizeof head);
    const bool events = head.magic == REAP_BLOCK_MAGIC && head.kind == REAP_BLOCK_EVENTS;
    return events && head.committed <= REAP_PAYLOAD_BYTES ? head.committed : 0;
}

} // namespace

void split_columns(const unsigned char *piece, size_t length, Columns &columns) {
    for (std::vector<unsigned char> &column : columns) column.clear();
    for (size_t from = 0; from < length; from += REAP_BLOCK_BYTES) {
        const unsigned char *block = piece + from;
        const size_t size = std::min<size_t>(length - from, REAP_BLOCK_BYTES);
        const unsigned char *records = block + sizeof(reap_block_header);
        const unsigned char *end = records + records_of(block, size);
        std::array<size_t, kColumns> before{};
        for (size_t i = 0; i < kColumns; ++i) before[i] = columns[i].size();
        Splitter splitter(records, end, columns);
        const bool split = records_of(block, size) != 0 && move_records(splitter);
        std::vector<unsigned char> &plain = columns[kPlain];
        columns[kSplit].push_back(split ? 1 : 0);
        if (split) {
            plain.insert(plain.end(), block, records);
            plain.insert(plain.end(), end, block + size);
            continue;
        }
        for (size_t i = 0; i < kSplit; ++i) columns[i].resize(before[i]);
        plain.insert(plain.end(), block, block + size);
    }
}

bool join_columns(const Columns &columns, unsigned char *piece, size_t length) {
    Joiner joiner(columns);
    for (size_t from = 0; from < length; from += REAP_BLOCK_BYTES) {
        unsigned char *block = piece + from;
        const size_t size = std::min<size_t>(length - from, REAP_BLOCK_BYTES);
        unsigned char kind = 0;
        joiner.begin(&kind, &kind + 1);
        joiner.move(kSplit);
        joiner.begin(block, block + size);
        if (kind == 0) {
            if (!joiner.move_all(kPlain, size)) return false;
            continue;
        }
        if (size != REAP_BLOCK_BYTES || !joiner.move_all(kPlain, sizeof(reap_block_header))) return false;
        unsigned char *records = block + sizeof(reap_block_header);
        unsigned char *end = records + records_of(block, size);
        joiner.begin(records, end);
        if (!move_records(joiner)) return false;
        joiner.begin(end, block + size);
        if (!joiner.move_all(kPlain, static_cast<uint64_t>(block + size - end))) return false;
    }
    return joiner.good() && joiner.used_up();
}

} // namespace reap::native
