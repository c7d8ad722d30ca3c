// A stream of records in the blocks of one owner.
#pragma once

#include <cstddef>
#include <cstdint>

#include "output/trace_file.h"
#include "reap_encode.h"

namespace reap::preload {

// One writer: a thread's own events, or a process's definitions under a lock. Use:
//
//     if (uint8_t *out = stream.begin(trace, owner, most)) { out = put_...(out); stream.commit(out); }
class RecordStream {
  public:
    // Room for a record of at most `most` bytes; null when the trace cannot grow any more.
    uint8_t *begin(TraceFile &trace, reap_block_kind kind, const Owner &owner, size_t most) noexcept {
        if (block_ == nullptr || static_cast<size_t>(end_ - cursor_) < most) [[unlikely]] {
            if (block_ != nullptr && has_more_room(trace, most)) return cursor_;
            return next_block(trace, kind, owner, most);
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
    void close(TraceFile &trace) noexcept {
        if (block_ != nullptr) trace.seal(block_);
        block_ = nullptr;
    }

    // Makes all of the block that is being filled writable, if there is one.
    void take_all_room(TraceFile &trace) noexcept {
        if (block_ != nullptr) has_more_room(trace, static_cast<size_t>(whole_end() - cursor_));
    }

    // After a fork the blocks are the parent's: forget them without touching them.
    void forget() noexcept { *this = RecordStream{}; }

  private:
    [[nodiscard]] uint8_t *whole_end() const noexcept {
        return TraceFile::payload(block_) + REAP_PAYLOAD_BYTES;
    }

    // A process that writes little takes little of the disk: a block's pages are made writable as they are
    // needed, twice as many each time.
    [[gnu::noinline, gnu::cold]] bool has_more_room(TraceFile &trace, size_t most) noexcept {
        if (static_cast<size_t>(whole_end() - cursor_) < most || end_ == whole_end()) return false;
        uint8_t *begin = TraceFile::payload(block_);
        uint8_t *wanted = begin + 2 * (end_ - begin);
        if (wanted < cursor_ + most) wanted = cursor_ + most;
        if (wanted > whole_end()) wanted = whole_end();
        if (!trace.make_room(block_, static_cast<uint32_t>(end_ - begin),
                             static_cast<uint32_t>(wanted - begin))) {
            return false;
        }
        end_ = wanted;
        return true;
    }

    [[gnu::noinline, gnu::cold]] uint8_t *next_block(TraceFile &trace, reap_block_kind kind,
                                                     const Owner &owner, size_t most) noexcept {
        close(trace);
        // The event that needs the block may have been stamped a while ago: making a block takes its time.
        if (last_ticks_ == 0) last_ticks_ = owner.began;
        auto room = static_cast<uint32_t>(most);
        block_ = trace.add_block(kind, owner, sequence_, last_ticks_, room);
        if (block_ == nullptr) return nullptr;
        ++sequence_;
        cursor_ = TraceFile::payload(block_);
        end_ = cursor_ + room;
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
