// The events of one thread, block after block, in its own order.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "trace/block_reader.h"
#include "trace/event.h"
#include "trace/record_reader.h"

namespace reap::native {

// Holds one block in memory at a time, from its first event to its last.
class EventStream {
  public:
    // What is read of blocks that may have both.
    enum class Of : uint8_t { Events, Samples };

    // Reads the EVENTS blocks of one thread that are added to `blocks()`, the first of which is `first`:
    // samples in triage, and every event in full depth, as the file's header says.
    EventStream(BlockFile &file, const BlockInfo &first, BlockReader::File state = BlockReader::File::Whole)
        : EventStream(file, first, state, of(file)) {}
    EventStream(BlockFile &file, const BlockInfo &first, BlockReader::File state, Of what)
        : file_(file), first_(first), blocks_(file, state), samples_(what == Of::Samples) {
        blocks_.add(first);
    }

    // What a file's figures come from.
    static Of of(const BlockFile &file) noexcept {
        return file.header().depth == REAP_DEPTH_FULL ? Of::Events : Of::Samples;
    }

    [[nodiscard]] uint32_t image() const noexcept { return first_.head.image; }
    [[nodiscard]] uint32_t thread() const noexcept { return first_.head.thread; }
    [[nodiscard]] BlockReader &blocks() noexcept { return blocks_; }
    [[nodiscard]] const BlockReader &blocks() const noexcept { return blocks_; }

    // For the reader of the stream: where it keeps what belongs to this image, and that it has seen its end.
    size_t place = 0;
    bool ended = false;

    // Not later than the next event: where this stream has to be put into the order of all. Behind all others
    // if it has none.
    [[nodiscard]] uint64_t due() const noexcept {
        if (!empty()) return front().follows ? 0 : front().ticks;
        const BlockInfo *const next = blocks_.waiting();
        return next != nullptr ? next->head.base_ticks : UINT64_MAX;
    }

    // How many threads have taken the stream over from the one before, up to the one whose events wait: those
    // of two threads never wait at once.
    [[nodiscard]] uint32_t successors() const noexcept { return successors_; }

    // The events that have been decoded and not taken yet, in order; empty before `refill` and at the end.
    [[nodiscard]] bool empty() const noexcept { return begin_ == end_; }
    [[nodiscard]] const Event &front() const noexcept { return batch_[begin_]; }
    void pop(size_t count) noexcept { begin_ += count; }
    [[nodiscard]] std::span<const Event> waiting() const noexcept {
        return std::span(batch_).subspan(begin_, end_ - begin_);
    }

    // Decodes some more events; false when there are none, or none yet. Those behind the last stamp that is
    // known have its time. What makes no sense ends its block and counts as
    // damage. Events come in batches so that a reader can fetch the memory that they will need ahead of time.
    bool refill();

  private:
    static constexpr size_t kBatch = 128;
    // A writer leaves fewer events in a row without a stamp; beyond that they have the time of the last
    // stamp.
    static constexpr size_t kMostWaiting = 64;

    void begin_piece();
    void decode_batch();
    void cut();

    BlockFile &file_;
    const BlockInfo &first_;
    BlockReader blocks_;
    bool samples_;             // these are read, and not every event
    std::vector<Event> batch_; // those from begin_ to end_ wait
    size_t begin_ = 0;
    size_t end_ = 0;
    uint32_t successors_ = 0;
    RecordReader in_;
    BlockState state_;
    std::array<uint32_t, REAP_STACK_PLACES> places_{}; // stacks that the block's records refer to
};

} // namespace reap::native
