// A stream of records in the blocks of one owner.
#pragma once

#include <cstddef>
#include <cstdint>

#include "reap_encode.h"
#include "trace_file.h"

namespace reap::preload {

// One writer: a thread's own events, or a process's definitions under a lock. Use:
//
//     if (uint8_t *out = stream.begin(trace, owner, most)) { out = put_...(out); stream.commit(out); }
class RecordStream {
  public:
    // Room for a record of at most `most` bytes; null when the trace cannot grow any more.
    uint8_t *begin(TraceFile &trace, reap_block_kind kind, const Owner &owner, size_t most) noexcept {
        if (block_ == nullptr || static_cast<size_t>(end_ - cursor_) < most) [[unlikely]] {
            return next_block(trace, kind, owner);
        }
        return cursor_;
    }

    // The record that ends at `out` is whole.
    void commit(uint8_t *out) noexcept {
        cursor_ = out;
        TraceFile::commit(block_, static_cast<uint32_t>(out - TraceFile::payload(block_)));
    }

    // A stamp as the difference to the one before it. Clocks of two cores may disagree by a few ticks; time
    // in a block never runs backwards.
    uint8_t *put_stamp(uint8_t *out, uint64_t ticks) noexcept {
        const uint64_t step = ticks > last_ticks_ ? ticks - last_ticks_ : 0;
        last_ticks_ += step;
        return format::put_varint(out, step);
    }

    uint8_t *put_address(uint8_t *out, const void *pointer) noexcept {
        const auto address = reinterpret_cast<uint64_t>(pointer);
        const uint64_t folded = format::fold_address(last_address_, address);
        last_address_ = address;
        return format::put_varint(out, folded);
    }

    // A stamp of a long record: these count from the head of the block.
    [[nodiscard]] uint8_t *put_plain_stamp(uint8_t *out, uint64_t ticks) const noexcept {
        return format::put_varint(out, ticks > block_->base_ticks ? ticks - block_->base_ticks : 0);
    }

    // A long record: its tag, then its length, then `length` bytes from `body`.
    static uint8_t *put_long(uint8_t *out, reap_tag tag, const uint8_t *body, size_t length) noexcept {
        *out++ = static_cast<uint8_t>(tag);
        return format::put_string(out, reinterpret_cast<const char *>(body), length);
    }

    // Seals what there is. The stream can go on; it then takes a new block.
    void close() noexcept {
        if (block_ != nullptr) TraceFile::seal(block_);
        block_ = nullptr;
    }

    // After a fork the blocks are the parent's: forget them without touching them.
    void forget() noexcept { *this = RecordStream{}; }

  private:
    [[gnu::noinline, gnu::cold]] uint8_t *next_block(TraceFile &trace, reap_block_kind kind,
                                                     const Owner &owner) noexcept {
        close();
        // The event that needs the block may have been stamped a while ago: making a block takes its time.
        if (last_ticks_ == 0) last_ticks_ = owner.began;
        block_ = trace.add_block(kind, owner, sequence_, last_ticks_);
        if (block_ == nullptr) return nullptr;
        ++sequence_;
        cursor_ = TraceFile::payload(block_);
        end_ = cursor_ + REAP_PAYLOAD_BYTES;
        last_address_ = 0;
        return cursor_;
    }

    reap_block_header *block_ = nullptr;
    uint8_t *cursor_ = nullptr;
    uint8_t *end_ = nullptr;
    uint64_t last_ticks_ = 0;
    uint64_t last_address_ = 0;
    uint32_t sequence_ = 0;
};

// Enough for any hot record, and for any sample.
inline constexpr size_t kMostHotBytes = 128;

} // namespace reap::preload
