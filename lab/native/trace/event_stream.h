// The events of one thread, block after block, in its own order.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "trace/block_file.h"
#include "trace/event.h"
#include "trace/record_reader.h"

namespace reap::native {

// Holds one block in memory at a time, from its first event to its last.
class EventStream {
  public:
    // `blocks` are EVENTS blocks of one thread, by sequence; not empty.
    EventStream(BlockFile &file, std::vector<const BlockInfo *> blocks);

    [[nodiscard]] uint32_t image() const noexcept { return blocks_.front()->head.image; }
    [[nodiscard]] uint32_t thread() const noexcept { return blocks_.front()->head.thread; }
    [[nodiscard]] uint32_t tid() const noexcept { return blocks_.front()->head.tid; }

    // For the reader of the stream: where it keeps what belongs to this image.
    size_t place = 0;

    // Not later than the first event: where this stream has to be put into the order of all.
    [[nodiscard]] uint64_t starts_at() const noexcept { return blocks_.front()->head.base_ticks; }

    // The events that have been decoded and not taken yet, in order; empty before `refill` and at the end.
    [[nodiscard]] bool empty() const noexcept { return first_ == last_; }
    [[nodiscard]] const Event &front() const noexcept { return batch_[first_]; }
    void pop(size_t count) noexcept { first_ += count; }
    [[nodiscard]] std::span<const Event> waiting() const noexcept {
        return std::span(batch_).subspan(first_, last_ - first_);
    }

    // Decodes some more events; false when there are none. What makes no sense ends its block and counts as
    // damage. Events come in batches so that a reader can fetch the memory that they will need ahead of time.
    bool refill();

  private:
    static constexpr size_t kBatch = 128;
    // A writer leaves fewer events in a row without a stamp; beyond that they have the time of the last
    // stamp.
    static constexpr size_t kMostWaiting = 64;

    bool next_block();
    void decode_batch();

    BlockFile &file_;
    std::vector<const BlockInfo *> blocks_;
    size_t block_ = 0;
    std::vector<unsigned char> payload_;
    std::vector<Event> batch_; // those from first_ to last_ wait
    size_t first_ = 0;
    size_t last_ = 0;
    RecordReader in_;
    BlockState state_;
    std::array<uint32_t, REAP_STACK_PLACES> places_{}; // stacks that the block's records refer to
};

} // namespace reap::native
