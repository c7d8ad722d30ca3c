#include "event_stream.h"

#include <utility>

namespace reap::native {

EventStream::EventStream(BlockFile &file, std::vector<const BlockInfo *> blocks)
    : file_(file), blocks_(std::move(blocks)) {}

bool EventStream::next_block() {
    while (block_ < blocks_.size()) {
        const BlockInfo &block = *blocks_[block_++];
        if (!file_.payload(block, payload_)) continue;
        in_ = RecordReader(payload_.data(), payload_.data() + payload_.size());
        state_ = {block.head.base_ticks, 0};
        return true;
    }
    payload_ = {};
    return false;
}

bool EventStream::refill() {
    batch_.resize(kBatch);
    size_t count = 0;
    while (count < kBatch && next(batch_[count])) ++count;
    batch_.resize(count);
    first_ = 0;
    if (count == 0) batch_ = {};
    return count > 0;
}

bool EventStream::next(Event &event) {
    if (has_second_) {
        has_second_ = false;
        event = second_;
        return true;
    }
    for (;;) {
        if (in_.done() && !next_block()) return false;
        if (in_.done()) continue;
        const uint8_t tag = in_.byte();
        const bool produced = (tag & 15) != 0 ? hot(tag, event) : cold(tag, event);
        if (!in_.good()) {
            ++file_.damage().malformed;
            has_second_ = false;
            in_ = RecordReader();
            continue;
        }
        if (produced) return true;
    }
}

bool EventStream::hot(uint8_t tag, Event &event) {
    event = Event{};
    event.call = tag >> 4;
    switch (tag & 15) {
    case REAP_TAG_ALLOC:
    case REAP_TAG_ALIGNED:
        event.what = What::Alloc;
        event.ticks = state_.stamp(in_);
        event.size = in_.varint();
        event.address = state_.next_address(in_);
        event.stack = static_cast<uint32_t>(in_.varint());
        if ((tag & 15) == REAP_TAG_ALIGNED) in_.varint();
        return in_.good();
    case REAP_TAG_FREE:
    case REAP_TAG_FREE_SIZED:
        event.what = What::Free;
        event.ticks = state_.stamp(in_);
        event.address = state_.next_address(in_);
        if ((tag & 15) == REAP_TAG_FREE_SIZED) event.size = in_.varint();
        return in_.good();
    case REAP_TAG_REALLOC:
        event.what = What::Free;
        event.by_realloc = true;
        second_ = event;
        second_.what = What::Alloc;
        event.ticks = state_.stamp(in_);
        second_.ticks = state_.stamp(in_);
        event.address = state_.next_address(in_);
        second_.address = state_.next_address(in_);
        second_.size = in_.varint();
        second_.stack = static_cast<uint32_t>(in_.varint());
        has_second_ = in_.good();
        return in_.good();
    case REAP_TAG_FAILED:
        event.what = What::Failed;
        event.ticks = state_.stamp(in_);
        event.size = in_.varint();
        event.stack = static_cast<uint32_t>(in_.varint());
        return in_.good();
    default:
        in_.fail();
        return false;
    }
}

bool EventStream::cold(uint8_t tag, Event &event) {
    const std::string_view body = in_.string();
    if (!in_.good()) return false;
    const auto *begin = reinterpret_cast<const unsigned char *>(body.data());
    RecordReader in(begin, begin + body.size());
    event = Event{};
    const uint64_t base = blocks_[block_ - 1]->head.base_ticks;
    switch (tag) {
    case REAP_TAG_SAMPLE:
        event.what = What::Sample;
        event.ticks = base + in.varint();
        event.call = static_cast<uint8_t>(in.varint() & 15);
        event.size = in.varint();
        event.address = in.varint();
        event.stack = static_cast<uint32_t>(in.varint());
        event.period = in.varint();
        event.duration = in.varint();
        event.clock = in.varint();
        event.thread = thread();
        break;
    case REAP_TAG_SAMPLE_END:
        event.what = What::SampleEnd;
        event.ticks = base + in.varint();
        event.address = in.varint();
        event.duration = in.varint();
        event.thread = static_cast<uint32_t>(in.varint());
        event.clock = in.varint();
        break;
    case REAP_TAG_END:
        in_.fail();
        return false;
    default:
        return false; // a later version's record
    }
    if (!in.good() || (event.what == What::Sample && event.period == 0)) in_.fail();
    return in_.good();
}

} // namespace reap::native
