// Taking numbers out of a block, with every read bounded.
#pragma once

#include <cstdint>
#include <string_view>

#include "reap_encode.h"
#include "reap_trace.h"

namespace reap::native {

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

    uint64_t varint() noexcept {
        if (at_ != end_ && *at_ < 0x80) return *at_++; // most fields are one byte
        return long_varint();
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

    uint8_t fail() noexcept {
        good_ = false;
        at_ = end_;
        return 0;
    }

  private:
    uint64_t long_varint() noexcept {
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

// The state that stamps and addresses of one block are differences to.
struct BlockState {
    uint64_t ticks = 0;
    uint64_t address = 0;

    uint64_t stamp(RecordReader &in) noexcept { return ticks += in.varint(); }
    uint64_t next_address(RecordReader &in) noexcept {
        return address = format::unfold_address(address, in.varint());
    }
};

} // namespace reap::native
