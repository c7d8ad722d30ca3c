// The events of all threads in the order of their stamps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <queue>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "trace/event_stream.h"

namespace reap::native {

// One stream for each thread that recorded events.
inline std::vector<std::unique_ptr<EventStream>> event_streams(BlockFile &file, EventStream::Of what) {
    std::map<std::pair<uint32_t, uint32_t>, std::unique_ptr<EventStream>> threads;
    for (const BlockInfo &block : file.blocks()) {
        if (block.head.kind != REAP_BLOCK_EVENTS) continue;
        auto &stream = threads[{block.head.image, block.head.thread}];
        if (stream == nullptr) {
            stream = std::make_unique<EventStream>(file, block, BlockReader::File::Whole, what);
        } else {
            stream->blocks().add(block);
        }
    }
    std::vector<std::unique_ptr<EventStream>> streams;
    streams.reserve(threads.size());
    for (auto &[who, stream] : threads) streams.push_back(std::move(stream));
    return streams;
}

inline std::vector<std::unique_ptr<EventStream>> event_streams(BlockFile &file) {
    return event_streams(file, EventStream::of(file));
}

inline constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

// Calls `handle(stream, events)` for every run of events of one stream, by increasing stamp,
// `announce(stream)` when more of a stream's events have been decoded and wait, and `ended(stream)` behind
// its last, where nothing can come behind it. The events of a run are the first of `stream.waiting()`. A
// stream's block is read only when its time has come, so that memory is bounded by the threads that overlap.
// Events behind `horizon` wait; so do all when about `most` were handled, and then the result is false.
template <class Announce, class Handle, class Ended>
bool merge_runs(const std::vector<EventStream *> &streams, uint64_t horizon, uint64_t most, Announce announce,
                Handle handle, Ended ended) {
    struct Head {
        uint64_t ticks;
        size_t order; // equal stamps: the older thread first, so that every reading gives the same result
        EventStream *stream;
    };
    const auto later = [](const Head *a, const Head *b) {
        return std::tie(a->ticks, a->order) > std::tie(b->ticks, b->order);
    };
    std::vector<Head> heads;
    heads.reserve(streams.size());
    for (EventStream *stream : streams) heads.push_back({stream->due(), heads.size(), stream});
    std::priority_queue<Head *, std::vector<Head *>, decltype(later)> queue(later);
    for (Head &head : heads) queue.push(&head);

    uint64_t handled = 0;
    while (!queue.empty() && queue.top()->ticks <= horizon) {
        if (handled >= most) return false;
        Head *head = queue.top();
        queue.pop();
        EventStream &stream = *head->stream;
        // Until somebody else is due, stay with this thread, and then as long as its events have no stamp.
        const uint64_t limit = queue.empty() ? horizon : std::min(queue.top()->ticks, horizon);
        const auto is_next = [limit](const Event &event) { return event.follows || event.ticks <= limit; };
        bool more = true;
        do {
            if (stream.empty()) {
                more = stream.refill();
                if (!more) break;
                announce(stream);
                if (!is_next(stream.front())) break;
            }
            const std::span<const Event> waiting = stream.waiting();
            size_t count = limit == kNoLimit ? waiting.size() : 1;
            while (count < waiting.size() && is_next(waiting[count])) ++count;
            handle(stream, waiting.first(count));
            stream.pop(count);
            handled += count;
        } while (handled < most && (stream.empty() || is_next(stream.front())));
        if (more) {
            head->ticks = stream.due();
            queue.push(head);
        } else if (stream.blocks().whole()) {
            ended(stream);
        }
    }
    return true;
}

// Calls `handle(stream, event)` for every event by increasing stamp.
template <class Handle>
void merge(const std::vector<std::unique_ptr<EventStream>> &streams, Handle handle) {
    std::vector<EventStream *> all;
    all.reserve(streams.size());
    for (const auto &stream : streams) all.push_back(stream.get());
    merge_runs(
        all, kNoLimit, kNoLimit, [](EventStream &) {},
        [&handle](EventStream &stream, std::span<const Event> events) {
            for (const Event &event : events) handle(stream, event);
        },
        [](EventStream &) {});
}

} // namespace reap::native
