// SPDX-License-Identifier: MIT
#include "trace/ring.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include "reap_gate.h"

namespace reap::spawn {
namespace {

constexpr int open_at_once = 256; ///< open blocks that are looked at in a tick
constexpr std::uint64_t page_size = 4096;

std::uint64_t offset_of(std::uint64_t index) { return index * REAP_BLOCK_BYTES; }

bool punch(int file, std::uint64_t begin, std::uint64_t end) {
    return begin >= end || fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                     static_cast<off_t>(begin), static_cast<off_t>(end - begin)) == 0;
}

/// Whether nobody can write to the block any more.
bool is_orphan(const reap_block_header &head) {
    return head.magic == REAP_BLOCK_MAGIC && kill(static_cast<pid_t>(head.pid), 0) != 0 && errno == ESRCH;
}

/// Whether samples that are read later depend on a record.
bool is_fact(unsigned char tag) { return tag == REAP_TAG_MAPPING || tag == REAP_TAG_UNRECORDED; }

std::uint64_t varint(const unsigned char *&at, const unsigned char *end) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; at < end && shift < 64; shift += 7) {
        const unsigned char next = *at++;
        value |= static_cast<std::uint64_t>(next & 0x7f) << shift;
        if (next < 0x80) break;
    }
    return value;
}

/// Moves the facts of a payload to its beginning; returns their length.
std::size_t move_facts(unsigned char *payload, std::size_t length) {
    std::size_t kept = 0;
    const unsigned char *const end = payload + length;
    for (const unsigned char *at = payload; at < end;) {
        const unsigned char *const record = at;
        const unsigned char tag = *at++;
        const std::uint64_t rest = varint(at, end);
        if (rest > static_cast<std::uint64_t>(end - at)) break;
        at += rest;
        if (!is_fact(tag)) continue;
        const auto size = static_cast<std::size_t>(at - record);
        std::memmove(payload + kept, record, size);
        kept += size;
    }
    return kept;
}

} // namespace

void TraceRing::tick(TraceBlocks &trace) {
    const reap_file_header &header = trace.header();
    const auto &part = header.part;
    if ((part.ring_ticks == 0 && part.ring_blocks == 0) || refused_) return;
    if (format::gate_of(header) == REAP_GATE_SHUT) return;
    const std::uint64_t ended = __atomic_load_n(&part.ended_ticks, __ATOMIC_ACQUIRE);
    now_ = ended != 0 ? ended : trace.ticks_now();
    until_ = now_ > part.ring_ticks ? now_ - part.ring_ticks : 0;
    if (part.ring_ticks != 0 && until_ > header.start_ticks) trace.begin_at(until_);
    look_at_open(trace);
    const std::uint64_t taken = __atomic_load_n(&header.next_block, __ATOMIC_RELAXED);
    while (next_ < taken && too_many(trace) && look_at(trace, next_)) ++next_;
}

bool TraceRing::too_many(const TraceBlocks &trace) const {
    const std::uint32_t most = trace.header().part.ring_blocks;
    const std::uint64_t taken = __atomic_load_n(&trace.header().next_block, __ATOMIC_RELAXED);
    return most == 0 || taken > most + dropped_;
}

TraceRing::Verdict TraceRing::judge(const TraceBlocks &trace, std::uint64_t index,
                                    reap_block_header &head) const {
    const ssize_t got = pread(trace.fd(), &head, sizeof head, static_cast<off_t>(offset_of(index)));
    if (got != static_cast<ssize_t>(sizeof head) || head.magic != REAP_BLOCK_MAGIC) return Verdict::Open;
    if (head.kind != REAP_BLOCK_EVENTS && head.kind != REAP_BLOCK_OUTSIDE) return Verdict::Stays;
    const bool whole =
        TraceBlocks::is_own(head) ? index != trace.index() : (head.flags & REAP_BLOCK_SEALED) != 0;
    if (!whole) return Verdict::Open;
    return head.last_ticks <= until_ ? Verdict::Old : Verdict::Young;
}

/// False: this block and those behind it are not old yet.
bool TraceRing::look_at(TraceBlocks &trace, std::uint64_t index) {
    reap_block_header head{};
    const Verdict verdict = judge(trace, index, head);
    if (verdict == Verdict::Old) drop(trace, index, head, head.last_ticks);
    // Where there are too many, one is forgotten, and stays.
    if (verdict == Verdict::Open) open_[open_count_ < max_open ? open_count_++ : next_open_] = {index, 0};
    return verdict != Verdict::Young;
}

void TraceRing::look_at_open(TraceBlocks &trace) {
    for (int left = open_count_ < open_at_once ? open_count_ : open_at_once; left > 0; --left) {
        if (next_open_ >= open_count_) next_open_ = 0;
        Open &open = open_[next_open_];
        reap_block_header head{};
        const Verdict verdict = judge(trace, open.index, head);
        if (verdict == Verdict::Open && open.ended == 0 && is_orphan(head)) open.ended = now_;
        const bool orphan = verdict == Verdict::Open && open.ended != 0 && open.ended <= until_;
        const bool old = (verdict == Verdict::Old || orphan) && too_many(trace);
        if (old) drop(trace, open.index, head, orphan ? open.ended : head.last_ticks);
        if (old || verdict == Verdict::Stays) {
            open = open_[--open_count_];
        } else {
            ++next_open_;
        }
    }
}

void TraceRing::drop(TraceBlocks &trace, std::uint64_t index, const reap_block_header &head,
                     std::uint64_t last) {
    if (head.kind == REAP_BLOCK_EVENTS) trace.begin_at(last);
    const std::uint64_t begin = offset_of(index) + keep_facts(trace, index, head);
    refused_ = !punch(trace.fd(), begin, offset_of(index + 1));
    ++dropped_;
}

/// How much of the block is to be kept, in whole pages.
std::uint64_t TraceRing::keep_facts(const TraceBlocks &trace, std::uint64_t index, reap_block_header head) {
    alignas(8) static unsigned char block[REAP_BLOCK_BYTES];
    if (!TraceBlocks::is_own(head) || head.committed > REAP_PAYLOAD_BYTES) return 0;
    const std::size_t length = REAP_BLOCK_HEADER_BYTES + head.committed;
    const auto at = static_cast<off_t>(offset_of(index));
    if (pread(trace.fd(), block, length, at) != static_cast<ssize_t>(length)) return 0;
    const std::size_t kept = move_facts(block + REAP_BLOCK_HEADER_BYTES, head.committed);
    if (kept == 0) return 0;
    head.committed = static_cast<std::uint32_t>(kept);
    std::memcpy(block, &head, sizeof head);
    const std::size_t whole = REAP_BLOCK_HEADER_BYTES + kept;
    if (pwrite(trace.fd(), block, whole, at) != static_cast<ssize_t>(whole)) return 0;
    return (whole + page_size - 1) / page_size * page_size;
}

} // namespace reap::spawn
