// Taking numbers out of a block, with every read bounded.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "reap_encode.h"
#include "reap_trace.h"

namespace reap::native {

// How many bytes must be readable behind the end of what a RecordReader is given.
inline constexpr size_t kReaderPadding = 8;

// Reads fields from [begin, end). After a field that does not fit, `good()` is false and every read gives 0.
class RecordReader {
  public:
    RecordReader() = default;
    RecordReader(const unsigned char *begin, const unsigned char *end) noexcept : at_(begin), end_(end) {}

    [[nodiscard]] bool good() const noexcept { return good_; }
    [[nodiscard]] bool done() const noexcept { return at_ == end_; }
    [[nodiscard]] const unsigned char *at() const noexcept { return at_; }

    uint8_t byte() noexcept {
        if (at_ == end_) return fail();
        return *at_++;
    }

    [[gnu::always_inline]] uint64_t varint() noexcept {
        // Eight bytes at once and no branch on the length, which nobody could predict: the lowest clear top
        // bit ends the number; then the groups of seven bits are pushed together in three steps.
        uint64_t word;
        std::memcpy(&word, at_, sizeof word);
        const uint64_t ends = ~word & UINT64_C(0x8080808080808080);
        if (ends == 0) [[unlikely]]
            return long_varint();
        const unsigned bits = static_cast<unsigned>(std::countr_zero(ends)) + 1;
        const unsigned char *next = at_ + bits / 8;
        if (next > end_) [[unlikely]]
            return fail();
        at_ = next;
        word &= ends ^ (ends - 1);
        word = (word & UINT64_C(0x007f007f007f007f)) | (word & UINT64_C(0x7f007f007f007f00)) >> 1;
        word = (word & UINT64_C(0x00003fff00003fff)) | (word & UINT64_C(0x3fff00003fff0000)) >> 2;
        return (word & UINT64_C(0x000000000fffffff)) | (word & UINT64_C(0x0fffffff00000000)) >> 4;
    }

    // A packed number, which has so many bytes behind the first.
    uint32_t packed(unsigned more) noexcept {
        uint32_t word;
        std::memcpy(&word, at_, sizeof word);
        const unsigned char *next = at_ + more + 1;
        if (next > end_) [[unlikely]]
            return fail();
        at_ = next;
        return word & UINT32_MAX >> (24 - 8 * more);
    }

    std::string_view string() noexcept {
        const uint64_t length = varint();
        if (!good_ || length > static_cast<uint64_t>(end_ - at_)) {
            fail();
            return {};
        }
        const std::string_view text(reinterpret_cast<const char *>(at_), length);
        at_ += length;
        return text;
    }

    // Takes back a byte that was read.
    void unread() noexcept { --at_; }

    [[gnu::noinline, gnu::cold]] uint8_t fail() noexcept {
        good_ = false;
        at_ = end_;
        return 0;
    }

  private:
    [[gnu::noinline, gnu::cold]] uint64_t long_varint() noexcept {
        uint64_t value = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            if (at_ == end_) return fail();
            const uint8_t next = *at_++;
            value |= static_cast<uint64_t>(next & 0x7f) << shift;
            if (next < 0x80) return value;
        }
        return fail();
    }

    const unsigned char *at_ = nullptr;
    const unsigned char *end_ = nullptr;
    bool good_ = true;
};

// One long record: its tag, and its fields alone.
struct LongRecord {
    uint8_t tag;
    RecordReader fields;
};

// Takes the next record of a block that holds long ones alone. What is none makes `in` bad.
inline LongRecord next_long(RecordReader &in) noexcept {
    const uint8_t tag = in.byte();
    const std::string_view body = in.string();
    if ((tag & 15) != 0) in.fail();
    const auto *begin = reinterpret_cast<const unsigned char *>(body.data());
    return {tag, RecordReader(begin, begin + body.size())};
}

// The state that stamps and addresses of one block are differences to.
struct BlockState {
    uint64_t ticks = 0;
    uint64_t address = 0;

    uint64_t stamp(RecordReader &in) noexcept { return ticks += in.varint(); }
    uint64_t short_stamp(RecordReader &in) noexcept { return ticks += in.packed(1); }
    uint64_t next_address(RecordReader &in) noexcept {
        return address = format::unfold_address(address, in.varint());
    }
    uint64_t next_step(RecordReader &in, unsigned more) noexcept {
        return address = format::unpack_step(address, in.packed(more));
    }
};

} // namespace reap::native
