#include "trace/block_file.h"

#include <algorithm>
#include <cstddef>

#include "trace/checksum.h"
#include "trace/record_reader.h"

namespace reap::native {

BlockFile::BlockFile(const std::string &path) : path_(path), file_(path) {
    const uint64_t length = file_.size();
    if (length == 0) throw BadTrace("it is empty");
    if (file_.read_at(&header_, sizeof header_, 0) != sizeof header_ || header_.magic != REAP_TRACE_MAGIC) {
        throw BadTrace("it is not a recording made by reap");
    }
    if (header_.version != REAP_TRACE_VERSION) {
        throw BadTrace("its format has version " + std::to_string(header_.version) +
                       ", this reap reads version " + std::to_string(REAP_TRACE_VERSION));
    }
    if (header_.block_bytes != REAP_BLOCK_BYTES ||
        (header_.depth != REAP_DEPTH_TRIAGE && header_.depth != REAP_DEPTH_FULL) ||
        (header_.clock != REAP_CLOCK_TSC && header_.clock != REAP_CLOCK_MONOTONIC_NS)) {
        throw BadTrace("its header is damaged");
    }
    const uint64_t expected = std::max<uint64_t>(header_.next_block, 1);
    uint64_t whole = (length + REAP_BLOCK_BYTES - 1) / REAP_BLOCK_BYTES;
    // While it is made, and where nobody closed it, the file is longer than what was used of it.
    if (header_.file_blocks != 0) whole = std::min(whole, expected);
    // Blocks that were allocated but lie behind the end of the file: the disk was full then (the header says
    // so), or the file was cut afterwards.
    if (header_.stop_reason == REAP_STOP_NONE && expected > whole) damage_.truncated += expected - whole;
    for (uint64_t index = 1; index < whole; ++index) {
        BlockInfo block{index, {}, index * REAP_BLOCK_BYTES, REAP_PAYLOAD_BYTES};
        if (file_.read_at(&block.head, sizeof block.head, block.offset) != sizeof block.head) {
            ++damage_.truncated;
            break;
        }
        if (block.head.magic == 0) {
            ++damage_.empty;
            continue;
        }
        if (block.head.kind == REAP_BLOCK_COUNTS) add_blocks_within(block);
        add_block(block);
    }
}

void BlockFile::add_block(BlockInfo block) {
    const bool known = block.head.kind >= REAP_BLOCK_EVENTS && block.head.kind <= REAP_BLOCK_REQUESTS;
    if (known && block.head.magic == REAP_BLOCK_MAGIC && block.head.committed <= block.room &&
        block.head.thread <= kMostThreads) {
        blocks_.push_back(block);
    } else {
        ++damage_.foreign;
    }
}

void BlockFile::add_blocks_within(const BlockInfo &block) {
    unsigned char bytes[REAP_INNER_DEFINITIONS_BYTES + REAP_INNER_EVENTS_BYTES];
    constexpr size_t kFirst = offsetof(reap_counts, definitions);
    static_assert(offsetof(reap_counts, events) == kFirst + REAP_INNER_DEFINITIONS_BYTES);
    const uint64_t begin = block.offset + REAP_BLOCK_HEADER_BYTES + kFirst;
    if (file_.read_at(bytes, sizeof bytes, begin) != sizeof bytes) return; // the block itself is cut off, too
    const struct {
        reap_block_kind kind;
        uint32_t at;
        uint32_t length;
    } places[] = {{REAP_BLOCK_DEFINITIONS, 0, REAP_INNER_DEFINITIONS_BYTES},
                  {REAP_BLOCK_EVENTS, REAP_INNER_DEFINITIONS_BYTES, REAP_INNER_EVENTS_BYTES}};
    for (const auto &[kind, at, length] : places) {
        BlockInfo within{block.index, {}, begin + at, length - REAP_BLOCK_HEADER_BYTES};
        std::memcpy(&within.head, bytes + at, sizeof within.head);
        if (within.head.magic == 0) continue;
        if (within.head.kind == kind) {
            add_block(within);
        } else {
            ++damage_.foreign;
        }
    }
}

bool BlockFile::payload(const BlockInfo &block, std::vector<unsigned char> &out) {
    out.resize(block.head.committed + kReaderPadding); // the padding stays behind when the size shrinks
    out.resize(block.head.committed);
    if (file_.read_at(out.data(), out.size(), block.offset + REAP_BLOCK_HEADER_BYTES) != out.size()) {
        ++damage_.truncated;
        return false;
    }
    if ((block.head.flags & REAP_BLOCK_SEALED) != 0 &&
        checksum(out.data(), out.size(), block.head.image) != block.head.checksum) {
        ++damage_.corrupt;
        return false;
    }
    return true;
}

} // namespace reap::native
