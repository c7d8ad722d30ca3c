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
inline std::vector<std::unique_ptr<EventStream>> event_streams(BlockFile &file) {
    std::map<std::pair<uint32_t, uint32_t>, std::vector<const BlockInfo *>> threads;
    for (const BlockInfo &block : file.blocks()) {
        if (block.head.kind == REAP_BLOCK_EVENTS)
            threads[{block.head.image, block.head.thread}].push_back(&block);
    }
    std::vector<std::unique_ptr<EventStream>> streams;
    for (auto &[who, blocks] : threads) {
        std::stable_sort(blocks.begin(), blocks.end(), [](const BlockInfo *a, const BlockInfo *b) {
            return a->head.sequence < b->head.sequence;
        });
        streams.push_back(std::make_unique<EventStream>(file, std::move(blocks)));
    }
    return streams;
}

// Calls `handle(stream, events)` for every run of events of one stream, by increasing stamp,
// `announce(stream)` when more of a stream's events have been decoded and wait, and `ended(stream)` behind
// its last. The events of a run are the first of `stream.waiting()`. A stream's block is read only when its
// time has come, so that memory is bounded by the threads that overlap.
template <class Announce, class Handle, class Ended>
void merge_runs(std::vector<std::unique_ptr<EventStream>> streams, Announce announce, Handle handle,
                Ended ended) {
    struct Head {
        uint64_t ticks;
        size_t order; // equal stamps: the older thread first, so that every reading gives the same result
        std::unique_ptr<EventStream> stream;
    };
    const auto later = [](const Head *a, const Head *b) {
        return std::tie(a->ticks, a->order) > std::tie(b->ticks, b->order);
    };
    std::vector<Head> heads;
    heads.reserve(streams.size());
    for (auto &stream : streams) {
        const uint64_t start = stream->starts_at();
        heads.push_back({start, heads.size(), std::move(stream)});
    }
    std::priority_queue<Head *, std::vector<Head *>, decltype(later)> queue(later);
    for (Head &head : heads) queue.push(&head);

    constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();
    while (!queue.empty()) {
        Head *head = queue.top();
        queue.pop();
        EventStream &stream = *head->stream;
        // Until somebody else is due, stay with this thread.
        const uint64_t limit = queue.empty() ? kNever : queue.top()->ticks;
        bool more = true;
        do {
            if (stream.empty()) {
                more = stream.refill();
                if (!more) break;
                announce(stream);
                if (stream.front().ticks > limit) break;
            }
            const std::span<const Event> waiting = stream.waiting();
            size_t count = limit == kNever ? waiting.size() : 1;
            while (count < waiting.size() && waiting[count].ticks <= limit) ++count;
            handle(stream, waiting.first(count));
            stream.pop(count);
        } while (stream.empty() || stream.front().ticks <= limit);
        if (more) {
            head->ticks = stream.front().ticks;
            queue.push(head);
        } else {
            ended(stream);
            head->stream.reset();
        }
    }
}

// Calls `handle(stream, event)` for every event by increasing stamp.
template <class Handle>
void merge(std::vector<std::unique_ptr<EventStream>> streams, Handle handle) {
    merge_runs(
        std::move(streams), [](EventStream &) {},
        [&handle](EventStream &stream, std::span<const Event> events) {
            for (const Event &event : events) handle(stream, event);
        },
        [](EventStream &) {});
}

} // namespace reap::native
