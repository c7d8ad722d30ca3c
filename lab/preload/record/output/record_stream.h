// A stream of records in the blocks of one owner.
#pragma once

#include <cstddef>
#include <cstdint>

#include "output/trace_file.h"
#include "reap_encode.h"

namespace reap::preload {

// Has one writer: a thread for its events, or a process for its definitions under a lock. Usage:
//
//     if (uint8_t *out = stream.begin(trace, owner, most)) { out = put_...(out); stream.commit(out); }
class RecordStream {
  public:
    // Whether the block has space, at `cursor`, for a record of at most `most` bytes: else `begin` makes it.
    [[nodiscard]] bool has_room(size_t most) const noexcept {
        return static_cast<size_t>(end_ - cursor_) >= most;
    }
    [[nodiscard]] uint8_t *cursor() const noexcept { return cursor_; }

    // Space for a record of at most `most` bytes; null if the trace cannot grow.
    uint8_t *begin(TraceFile &trace, reap_block_kind kind, const Owner &owner, size_t most) noexcept {
        if (block_ == nullptr || static_cast<size_t>(end_ - cursor_) < most) [[unlikely]] {
            if (block_ != nullptr && extend(trace, most)) return cursor_;
            return next_block(trace, kind, owner, most);
        }
        return cursor_;
    }

    // The next record begins the stream in a short block at `place`, of `bytes` with its head, within another
    // block.
    void begin_within(unsigned char *place, uint32_t bytes, reap_block_kind kind,
                      const Owner &owner) noexcept {
        begin_at(TraceFile::make_head(place, kind, owner, sequence_, owner.began),
                 bytes - REAP_BLOCK_HEADER_BYTES);
        limit_ = end_;
        last_ticks_ = owner.began;
    }

    // Publishes the record that ends at `out`.
    void commit(uint8_t *out) noexcept {
        cursor_ = out;
        TraceFile::commit(block_, static_cast<uint32_t>(out - TraceFile::payload(block_)));
    }

    // Whether the next record may have no stamp: not the first of a block, and at most kMostUnstamped in a
    // row.
    [[nodiscard]] bool may_skip_stamp() const noexcept { return unstamped_.records < kMostUnstamped; }
    // The same among several threads: nor where it could make the thread have many more or fewer blocks in
    // use than it had at its last stamp. So a reader knows how many all threads have, at any moment, up to a
    // few for each.
    [[nodiscard]] bool may_skip_among_threads() const noexcept {
        constexpr int16_t kMostBlocks = 3;
        return unstamped_.blocks < kMostBlocks && unstamped_.blocks > -kMostBlocks;
    }
    // It has none. `blocks` more are in use by it: 1 or -1.
    void skip_stamp(int blocks) noexcept {
        uint32_t both; // in one addition: a record fewer than there may be in a row never carries
        __builtin_memcpy(&both, &unstamped_, sizeof both);
        both += (static_cast<uint32_t>(blocks) << 16) + 1;
        __builtin_memcpy(&unstamped_, &both, sizeof both);
    }
    // The next record has one.
    void need_stamp() noexcept { unstamped_ = {kMostUnstamped, 0}; }
    [[nodiscard]] bool begins_block() const noexcept { return cursor_ == TraceFile::payload(block_); }

    // A stamp as the difference from the previous one. The clocks of two cores may differ by a few ticks;
    // within a block, time never runs backwards.
    uint8_t *put_stamp(uint8_t *out, uint64_t ticks) noexcept {
        const uint64_t step = ticks > last_ticks_ ? ticks - last_ticks_ : 0;
        last_ticks_ += step;
        unstamped_ = {0, 0};
        return format::put_short_varint(out, step);
    }

    uint8_t *put_address(uint8_t *out, const void *pointer) noexcept {
        const auto address = reinterpret_cast<uint64_t>(pointer);
        const uint64_t folded = format::fold_address(last_address_, address);
        last_address_ = address;
        return format::put_short_varint(out, folded);
    }

    // A stamp of two bytes; null if the difference does not fit in them.
    uint8_t *put_short_stamp(uint8_t *out, uint64_t ticks) noexcept {
        const uint64_t step = ticks > last_ticks_ ? ticks - last_ticks_ : 0;
        if (unlikely(step > UINT16_MAX)) return nullptr;
        last_ticks_ += step;
        unstamped_ = {0, 0};
        const auto written = static_cast<uint16_t>(step);
        __builtin_memcpy(out, &written, sizeof written);
        return out + sizeof written;
    }

    // The step to an address, which is larger than any packed number where it has none.
    [[nodiscard]] uint64_t step_to(const void *pointer) const noexcept {
        return format::pack_step(last_address_, reinterpret_cast<uint64_t>(pointer));
    }
    // A step to it has been written.
    void set_address(const void *pointer) noexcept { last_address_ = reinterpret_cast<uint64_t>(pointer); }

    // A stamp of a long record, relative to the block's header.
    [[nodiscard]] uint8_t *put_plain_stamp(uint8_t *out, uint64_t ticks) const noexcept {
        if (ticks > block_->last_ticks) block_->last_ticks = ticks; // no short stamp is relative to it
        return format::put_varint(out, ticks > block_->base_ticks ? ticks - block_->base_ticks : 0);
    }

    // A long record: its tag, then its length, then `length` bytes from `body`.
    static uint8_t *put_long(uint8_t *out, reap_tag tag, const uint8_t *body, size_t length) noexcept {
        *out++ = static_cast<uint8_t>(tag);
        return format::put_string(out, reinterpret_cast<const char *>(body), length);
    }

    // Whether it never had a block.
    [[nodiscard]] bool is_new() const noexcept { return sequence_ == 0; }

    // Seals the current block. The next record starts a new one.
    void close(TraceFile &trace) noexcept {
        if (block_ == nullptr) return;
        if (last_ticks_ > block_->last_ticks) block_->last_ticks = last_ticks_;
        trace.seal(block_, is_within());
        block_ = nullptr;
    }

    // Makes the whole current block writable, if there is one.
    void allocate_whole_block(TraceFile &trace) noexcept {
        if (block_ != nullptr) extend(trace, static_cast<size_t>(limit_ - cursor_));
    }

    // After a fork the blocks belong to the parent: drops them without writing to them.
    void forget() noexcept { *this = RecordStream{}; }

  private:
    // Whether the current block is a short one within another.
    [[nodiscard]] bool is_within() const noexcept {
        return limit_ != TraceFile::payload(block_) + REAP_PAYLOAD_BYTES;
    }

    void begin_at(reap_block_header *block, uint32_t room) noexcept {
        block_ = block;
        ++sequence_;
        cursor_ = TraceFile::payload(block_);
        end_ = cursor_ + room;
        last_address_ = 0;
        need_stamp();
    }

    // Allocates a block's pages on demand, doubling them each time, so that a process that writes little uses
    // little disk space.
    [[gnu::noinline, gnu::cold]] bool extend(TraceFile &trace, size_t most) noexcept {
        if (static_cast<size_t>(limit_ - cursor_) < most || end_ == limit_) return false;
        uint8_t *begin = TraceFile::payload(block_);
        uint8_t *wanted = begin + 2 * (end_ - begin);
        if (wanted < cursor_ + most) wanted = cursor_ + most;
        if (wanted > limit_) wanted = limit_;
        if (!trace.allocate_pages(block_, static_cast<uint32_t>(end_ - begin),
                                  static_cast<uint32_t>(wanted - begin))) {
            return false;
        }
        end_ = wanted;
        return true;
    }

    [[gnu::noinline, gnu::cold]] uint8_t *next_block(TraceFile &trace, reap_block_kind kind,
                                                     const Owner &owner, size_t most) noexcept {
        close(trace);
        // The event that needs the block may have been stamped earlier: adding a block takes time.
        if (last_ticks_ == 0) last_ticks_ = owner.began;
        auto room = static_cast<uint32_t>(most);
        reap_block_header *const block = trace.add_block(kind, owner, sequence_, last_ticks_, room);
        if (block == nullptr) return nullptr;
        begin_at(block, room);
        limit_ = cursor_ + REAP_PAYLOAD_BYTES;
        return cursor_;
    }

    reap_block_header *block_ = nullptr;
    uint8_t *cursor_ = nullptr;
    uint8_t *end_ = nullptr;   // of what may be written to
    uint8_t *limit_ = nullptr; // of the block
    uint64_t last_ticks_ = 0;
    uint64_t last_address_ = 0;
    uint32_t sequence_ = 0;
    // Since the last stamp.
    struct Unstamped {
        uint16_t records;
        int16_t blocks; // so many more are in use
    };
    Unstamped unstamped_ = {0, 0};

    // A clock takes 8 to 25 ns to read, as much as the rest of an event.
    static constexpr uint16_t kMostUnstamped = 15;
};

// Enough for any hot record, and for any sample.
inline constexpr size_t kMaxHotBytes = 128;

} // namespace reap::preload
