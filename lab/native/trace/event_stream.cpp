#include "trace/event_stream.h"

#include <utility>

namespace reap::native {
namespace {

constexpr bool has_no_stamp(uint8_t tag) noexcept {
    const int kind = tag & 15;
    return kind >= REAP_TAG_QUICK_ALLOC && kind <= REAP_TAG_PACKED_FREE;
}

// Decodes one short record into `out`, which has room for two events; how many it made. A field that does not
// fit, or a tag that is not known, makes `in` bad.
inline size_t decode_short(uint8_t tag, RecordReader &in, BlockState &state, uint32_t *places,
                           Event *out) noexcept {
    Event &event = out[0];
    event.call = tag >> 4;
    event.by_realloc = false;
    event.follows = has_no_stamp(tag);
    switch (tag & 15) {
    case REAP_TAG_ALLOC:
    case REAP_TAG_ALIGNED:
    case REAP_TAG_KEPT_ALLOC:
        event.what = What::Alloc;
        event.ticks = state.stamp(in);
        event.size = in.varint();
        event.address = state.next_address(in);
        event.stack = static_cast<uint32_t>(in.varint());
        if ((tag & 15) == REAP_TAG_KEPT_ALLOC) places[event.stack % REAP_STACK_PLACES] = event.stack;
        if ((tag & 15) == REAP_TAG_ALIGNED) in.varint();
        return 1;
    case REAP_TAG_FREE:
    case REAP_TAG_FREE_SIZED:
        event.what = What::Free;
        event.ticks = state.stamp(in);
        event.address = state.next_address(in);
        if ((tag & 15) == REAP_TAG_FREE_SIZED) in.varint();
        return 1;
    case REAP_TAG_REALLOC:
        event.what = What::Free;
        event.by_realloc = true;
        out[1].what = What::Alloc;
        out[1].call = event.call;
        out[1].by_realloc = true;
        out[1].follows = false;
        event.ticks = state.stamp(in);
        out[1].ticks = state.stamp(in);
        event.address = state.next_address(in);
        out[1].address = state.next_address(in);
        out[1].size = in.varint();
        out[1].stack = static_cast<uint32_t>(in.varint());
        return 2;
    case REAP_TAG_QUICK_ALLOC:
    case REAP_TAG_QUICK_KNOWN:
        event.what = What::Alloc;
        event.size = in.varint();
        event.address = state.next_address(in);
        if ((tag & 15) == REAP_TAG_QUICK_KNOWN) {
            event.stack = places[in.byte()];
        } else {
            event.stack = static_cast<uint32_t>(in.varint());
            places[event.stack % REAP_STACK_PLACES] = event.stack;
        }
        return 1;
    case REAP_TAG_QUICK_FREE:
        event.what = What::Free;
        event.address = state.next_address(in);
        return 1;
    case REAP_TAG_PACKED_MALLOC:
    case REAP_TAG_TIMED_MALLOC:
        event.what = What::Alloc;
        event.call = REAP_CALL_MALLOC;
        event.size = in.packed(unsigned{tag} >> 4 & 3);
        event.address = state.next_step(in, unsigned{tag} >> 6);
        event.stack = places[in.byte()];
        if ((tag & 15) == REAP_TAG_TIMED_MALLOC) event.ticks = state.short_stamp(in);
        return 1;
    case REAP_TAG_PACKED_FREE:
    case REAP_TAG_TIMED_FREE:
        event.what = What::Free;
        event.call = REAP_CALL_FREE;
        event.address = state.next_step(in, unsigned{tag} >> 4 & 3);
        if ((tag & 15) == REAP_TAG_TIMED_FREE) event.ticks = state.short_stamp(in);
        if (tag >> 6 != 0) in.fail();
        return 1;
    case REAP_TAG_FAILED:
        event.what = What::Failed;
        event.ticks = state.stamp(in);
        event.size = in.varint();
        event.stack = static_cast<uint32_t>(in.varint());
        return 1;
    default:
        in.fail();
        return 0;
    }
}

// Decodes one long record; 0 events if it is none, as a later version's.
size_t decode_long(uint8_t tag, RecordReader &in, const reap_block_header &block, Event &event,
                   uint32_t &successors) noexcept {
    const std::string_view body = in.string();
    if (!in.good()) return 0;
    const auto *begin = reinterpret_cast<const unsigned char *>(body.data());
    RecordReader fields(begin, begin + body.size());
    event = Event{};
    switch (tag) {
    case REAP_TAG_SAMPLE:
        event.what = What::Sample;
        event.ticks = block.base_ticks + fields.varint();
        event.call = static_cast<uint8_t>(fields.varint() & 15);
        event.size = fields.varint();
        event.address = fields.varint();
        event.stack = static_cast<uint32_t>(fields.varint());
        event.period = fields.varint();
        event.duration = fields.varint();
        event.clock = fields.varint();
        event.allocations = fields.varint();
        event.frees = fields.varint();
        event.thread = block.thread;
        // Without a period it says itself what it stands for, and knows no address.
        if (event.period == 0 && (event.clock == 0 || event.address != 0)) fields.fail();
        break;
    case REAP_TAG_SAMPLE_END:
        event.what = What::SampleEnd;
        event.ticks = block.base_ticks + fields.varint();
        event.address = fields.varint();
        event.duration = fields.varint();
        event.thread = static_cast<uint32_t>(fields.varint());
        event.clock = fields.varint();
        break;
    case REAP_TAG_MARK:
        fields.varint(); // its stamp
        if (fields.varint() == REAP_MARK_THREAD && fields.good()) ++successors;
        return 0;
    case REAP_TAG_END:
        in.fail();
        return 0;
    default:
        return 0;
    }
    if (!fields.good()) in.fail();
    return 1;
}

// The times of the `count` events before `end`, which lie at equal steps behind a stamp.
inline void set_times(Event *end, size_t count, uint64_t stamp, uint64_t step) noexcept {
    for (Event *event = end - count; event != end; ++event) event->ticks = stamp += step;
}

} // namespace

void EventStream::begin_piece() {
    const std::vector<unsigned char> &piece = blocks_.piece();
    in_ = RecordReader(piece.data(), piece.data() + piece.size());
    if (!blocks_.begins_block()) return;
    state_ = {blocks_.block().head.base_ticks, 0};
    places_.fill(0);
}

bool EventStream::refill() {
    batch_.resize(kBatch + kMostWaiting + 1); // a record may make two
    begin_ = 0;
    end_ = 0;
    while (empty()) {
        begin_ = 0;
        end_ = 0;
        if (in_.done()) {
            if (!blocks_.next()) {
                batch_ = {};
                return false;
            }
            begin_piece();
        }
        decode_batch();
        cut();
    }
    return true;
}

// Leaves out what is not of the part that the trace is of.
void EventStream::cut() {
    const RunPart &part = file_.part();
    while (begin_ < end_ && batch_[begin_].ticks < part.begin) ++begin_;
    while (begin_ < end_ && batch_[end_ - 1].ticks > part.end) --end_;
}

// Reads on in the piece at hand. On copies of the reader's state, so that it can stay in registers.
void EventStream::decode_batch() {
    const reap_block_header &block = blocks_.block().head;
    RecordReader in = in_;
    BlockState state = state_;
    size_t count = end_;
    size_t untimed = 0; // the last so many events wait for the stamp behind them
    while ((count < kBatch || (untimed != 0 && untimed < kMostWaiting)) && !in.done()) {
        const uint8_t tag = in.byte();
        const bool is_short = (tag & 15) != 0;
        if (tag == REAP_TAG_MARK && count != 0) [[unlikely]] {
            in.unread(); // what follows may be another thread's, and is not of this batch
            break;
        }
        const uint64_t stamp = state.ticks;
        if (!is_short) set_times(&batch_[count], std::exchange(untimed, 0), stamp, 0);
        const size_t made = is_short ? decode_short(tag, in, state, places_.data(), &batch_[count])
                                     : decode_long(tag, in, block, batch_[count], successors_);
        if (!in.good()) [[unlikely]] {
            ++file_.damage().malformed;
            blocks_.skip_block();
            in = RecordReader();
            break;
        }
        if (is_short == samples_) continue; // not what is wanted
        if (has_no_stamp(tag)) {
            untimed += made;
        } else if (untimed != 0) {
            set_times(&batch_[count], untimed, stamp, (batch_[count].ticks - stamp) / (untimed + 1));
            untimed = 0;
        }
        count += made;
    }
    set_times(&batch_[count], untimed, state.ticks, 0);
    end_ = count;
    in_ = in;
    state_ = state;
}

} // namespace reap::native
