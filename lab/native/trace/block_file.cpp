#include "trace/block_file.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "trace/checksum.h"
#include "trace/record_reader.h"

namespace reap::native {

namespace {

double rate_of(const reap_file_header &header) {
    auto rate = static_cast<double>(header.ticks_per_second);
    if (header.end_ticks > header.start_ticks && header.end_monotonic_ns > header.start_monotonic_ns) {
        rate = static_cast<double>(header.end_ticks - header.start_ticks) * 1e9 /
               static_cast<double>(header.end_monotonic_ns - header.start_monotonic_ns);
    }
    return rate >= 1 ? rate : 1e9;
}

} // namespace

BlockFile::BlockFile(const std::string &path, View view) : path_(path), view_(view), file_(path) {
    if (file_.size() == 0) throw BadTrace("it is empty");
    read_header();
    if (header_.version < REAP_TRACE_OLDEST || header_.version > REAP_TRACE_VERSION) {
        throw BadTrace("its format has version " + std::to_string(header_.version) +
                       ", this reap reads versions " + std::to_string(REAP_TRACE_OLDEST) + " to " +
                       std::to_string(REAP_TRACE_VERSION));
    }
    if (header_.block_bytes != REAP_BLOCK_BYTES ||
        (header_.depth != REAP_DEPTH_TRIAGE && header_.depth != REAP_DEPTH_FULL) ||
        (header_.clock != REAP_CLOCK_TSC && header_.clock != REAP_CLOCK_MONOTONIC_NS)) {
        throw BadTrace("its header is damaged");
    }
    scan();
}

void BlockFile::read_header() {
    if (file_.read_at(&header_, sizeof header_, 0) != sizeof header_ || header_.magic != REAP_TRACE_MAGIC) {
        throw BadTrace("it is not a recording made by reap");
    }
    if (view_ == View::Beside) show_beside();
    ticks_per_second_ = rate_of(header_);
    began_unix_ns_ = header_.start_unix_ns;
    if (view_ != View::Beside) find_part();
}

// What a recording from outside alone would say.
void BlockFile::show_beside() {
    header_.attached = header_.beside;
    header_.depth = REAP_DEPTH_TRIAGE;
    header_.clock = REAP_CLOCK_MONOTONIC_NS;
    header_.ticks_per_second = 1'000'000'000;
    header_.start_ticks = header_.start_monotonic_ns;
    header_.end_ticks = header_.end_monotonic_ns;
    header_.sampler = REAP_SAMPLER_NONE;
    header_.period_bytes = 0;
    header_.deepbind = 0;
    header_.part = {};
    header_.exact = {};
}

void BlockFile::find_part() {
    const uint64_t began = header_.part.began_ticks;
    const uint64_t ended = header_.part.ended_ticks;
    part_ = {};
    if (began > header_.start_ticks) {
        part_.begin = began;
        part_.lead = static_cast<double>(began - header_.start_ticks) / ticks_per_second_;
        const auto ns = static_cast<uint64_t>(std::min(part_.lead * 1e9, 0x1p62)); // of a damaged file
        header_.start_ticks = began;
        header_.start_monotonic_ns += ns;
        header_.start_unix_ns += ns;
    }
    if (ended != 0) {
        part_.end = std::max(ended, header_.start_ticks);
        header_.end_ticks = std::min(header_.end_ticks, part_.end); // 0: it was not closed
    }
}

std::vector<std::pair<std::string, std::string>> BlockFile::labels() {
    std::vector<std::pair<std::string, std::string>> found;
    std::string text(std::min(header_.label_bytes, REAP_BLOCK_BYTES - REAP_LABELS_OFFSET), 0);
    text.resize(file_.read_at(text.data(), text.size(), REAP_LABELS_OFFSET));
    size_t at = 0;
    while (true) {
        const size_t key = text.find('\0', at);
        const size_t value = key == std::string::npos ? key : text.find('\0', key + 1);
        if (value == std::string::npos) return found;
        found.emplace_back(text.substr(at, key - at), text.substr(key + 1, value - key - 1));
        at = value + 1;
    }
}

void BlockFile::scan() {
    const uint64_t expected = std::max<uint64_t>(header_.next_block, 1);
    uint64_t whole = (file_.size() + REAP_BLOCK_BYTES - 1) / REAP_BLOCK_BYTES;
    // While it is made, and where nobody closed it, the file is longer than what was used of it.
    if (header_.file_blocks != 0) {
        whole = std::min(whole, expected);
        // The file may have been lengthened before its header said so, and been read in between.
        std::erase_if(not_begun_, [&](const Place &place) { return place.index >= whole; });
        next_ = std::min(next_, whole);
    }
    // Blocks that were allocated but lie behind the end of the file: the disk was full then (the header says
    // so), or the file was cut afterwards.
    const uint64_t missing = header_.stop_reason == REAP_STOP_NONE && expected > whole ? expected - whole : 0;
    damage_.truncated += missing - missing_;
    missing_ = missing;
    for (const Place &place : std::exchange(not_begun_, {})) look_at(place);
    for (; next_ < whole; ++next_) look_at({next_, next_ * REAP_BLOCK_BYTES, REAP_PAYLOAD_BYTES, 0, 0});
    damage_.empty = is_ring() ? 0
                              : static_cast<uint64_t>(std::ranges::count_if(
                                    not_begun_, [](const Place &place) { return place.kind == 0; }));
}

void BlockFile::look_at(const Place &place) {
    BlockInfo block{place.index, {}, place.offset, place.room};
    const bool within = block.is_within();
    if (file_.read_at(&block.head, sizeof block.head, block.offset) != sizeof block.head) {
        damage_.truncated += within ? 0 : 1; // what is around a short one is cut off, too
        return;
    }
    if (block.head.magic == 0) {
        not_begun_.push_back(place);
        return;
    }
    if (within && block.head.kind != place.kind) {
        ++damage_.foreign;
        return;
    }
    if (!within && block.head.kind == REAP_BLOCK_COUNTS) {
        const uint64_t begin = block.offset + REAP_BLOCK_HEADER_BYTES;
        look_at({block.index, begin + offsetof(reap_counts, definitions),
                 REAP_INNER_DEFINITIONS_BYTES - REAP_BLOCK_HEADER_BYTES, REAP_BLOCK_DEFINITIONS,
                 block.head.image});
        look_at({block.index, begin + offsetof(reap_counts, events),
                 REAP_INNER_EVENTS_BYTES - REAP_BLOCK_HEADER_BYTES, REAP_BLOCK_EVENTS, block.head.image});
    }
    add_block(block);
}

void BlockFile::add_block(BlockInfo block) {
    const unsigned kind = block.head.kind & ~REAP_BLOCK_BESIDE;
    const bool beside = kind != block.head.kind;
    const bool known = kind >= REAP_BLOCK_EVENTS && kind <= REAP_BLOCK_REQUESTS &&
                       (!beside || header_.beside != 0 || view_ == View::Beside);
    if (known && view_ != View::All && beside != (view_ == View::Beside)) return;
    if (view_ != View::All) block.head.kind = static_cast<uint16_t>(kind);
    if (known && block.head.magic == REAP_BLOCK_MAGIC && block.head.committed <= block.room &&
        block.head.thread <= kMostThreads) {
        blocks_.push_back(block);
        if ((block.head.flags & REAP_BLOCK_SEALED) == 0) open_.push_back(&blocks_.back());
    } else {
        ++damage_.foreign;
    }
}

// Not where events are missing: a thread stopped, or the space of old blocks was returned.
bool BlockFile::is_exact() const noexcept {
    return header_.exact.most_events != 0 && header_.exact.over == 0 && header_.attached == 0 &&
           header_.stop_reason == REAP_STOP_NONE && !is_ring();
}

void BlockFile::find_new_blocks() {
    file_.measure();
    read_header();
    scan();
}

void BlockFile::update(const std::unordered_set<uint32_t> &ended) {
    find_new_blocks();
    std::erase_if(open_, [&](BlockInfo *block) {
        return closed_.contains(block) || !read_again(*block) ||
               (block->head.flags & REAP_BLOCK_SEALED) != 0 || ended.contains(block->head.image);
    });
    closed_.clear();
    std::erase_if(not_begun_,
                  [&](const Place &place) { return place.kind != 0 && ended.contains(place.image); });
}

// False, and counted as damage, where another block is now, or less than there was.
bool BlockFile::read_again(BlockInfo &block) {
    reap_block_header head;
    const reap_block_header &had = block.head;
    const size_t read = file_.read_at(&head, sizeof head, block.offset);
    if (view_ == View::Beside) head.kind = static_cast<uint16_t>(head.kind & ~REAP_BLOCK_BESIDE);
    if (read == sizeof head && head.magic == had.magic && head.kind == had.kind && head.image == had.image &&
        head.thread == had.thread && head.sequence == had.sequence && head.committed >= had.committed &&
        head.committed <= block.room) {
        block.head = head;
        return true;
    }
    damage_.foreign += was_dropped(block) ? 0 : 1;
    return false;
}

// Whether the ring has given a block back since its head was read.
bool BlockFile::was_dropped(const BlockInfo &block) {
    uint32_t magic = 0;
    return is_ring() && header_.finished == 0 &&
           file_.read_at(&magic, sizeof magic, block.offset) == sizeof magic && magic == 0;
}

bool BlockFile::payload(const BlockInfo &block, std::vector<unsigned char> &out, uint32_t from) {
    const size_t length = block.head.committed - from;
    out.resize(length + kReaderPadding); // the padding stays behind when the size shrinks
    out.resize(length);
    if (file_.read_at(out.data(), length, block.offset + REAP_BLOCK_HEADER_BYTES + from) != length) {
        ++damage_.truncated;
        return false;
    }
    if (was_dropped(block)) return false;
    if (from == 0 && (block.head.flags & REAP_BLOCK_SEALED) != 0 &&
        checksum(out.data(), length, block.head.image) != block.head.checksum) {
        ++damage_.corrupt;
        return false;
    }
    return true;
}

} // namespace reap::native
