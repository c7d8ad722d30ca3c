// Makes small traces by hand, for tests.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <unistd.h>
#include <vector>

#include "reap_encode.h"
#include "reap_trace.h"
#include "trace/checksum.h"

namespace reap::test {

// The payload of a block being written.
class Payload {
  public:
    Payload &byte(unsigned value) {
        bytes_.push_back(static_cast<unsigned char>(value));
        return *this;
    }
    Payload &number(uint64_t value) {
        unsigned char buffer[format::kMaxVarint];
        append(buffer, format::put_varint(buffer, value));
        return *this;
    }
    Payload &text(const std::string &value) {
        number(value.size());
        bytes_.insert(bytes_.end(), value.begin(), value.end());
        return *this;
    }
    Payload &address(uint64_t value) {
        number(format::fold_address(last_address_, value));
        last_address_ = value;
        return *this;
    }
    Payload &stamp(uint64_t ticks) {
        number(ticks - last_ticks_);
        last_ticks_ = ticks;
        return *this;
    }

    Payload &alloc(uint64_t ticks, uint64_t at, uint64_t size, uint32_t stack = 0) {
        return byte(format::hot_tag(REAP_TAG_ALLOC, REAP_CALL_MALLOC))
            .stamp(ticks)
            .number(size)
            .address(at)
            .number(stack);
    }
    Payload &free(uint64_t ticks, uint64_t at) {
        return byte(format::hot_tag(REAP_TAG_FREE, REAP_CALL_FREE)).stamp(ticks).address(at);
    }
    Payload &quick_alloc(uint64_t at, uint64_t size, uint32_t stack = 0) {
        return byte(format::hot_tag(REAP_TAG_QUICK_ALLOC, REAP_CALL_MALLOC))
            .number(size)
            .address(at)
            .number(stack);
    }
    Payload &quick_known(uint64_t at, uint64_t size, unsigned place) {
        return byte(format::hot_tag(REAP_TAG_QUICK_KNOWN, REAP_CALL_MALLOC))
            .number(size)
            .address(at)
            .byte(place);
    }
    Payload &quick_free(uint64_t at) {
        return byte(format::hot_tag(REAP_TAG_QUICK_FREE, REAP_CALL_FREE)).address(at);
    }
    // The fields of packed records have at most two bytes here.
    Payload &packed_malloc(uint64_t at, uint64_t size, unsigned place,
                           reap_tag tag = REAP_TAG_PACKED_MALLOC) {
        const uint64_t step = step_to(at);
        return byte(static_cast<unsigned>(tag) | 5u << 4).two_bytes(size).two_bytes(step).byte(place);
    }
    Payload &packed_free(uint64_t at, reap_tag tag = REAP_TAG_PACKED_FREE) {
        const uint64_t step = step_to(at);
        return byte(static_cast<unsigned>(tag) | 1u << 4).two_bytes(step);
    }
    Payload &timed_malloc(uint64_t ticks, uint64_t at, uint64_t size, unsigned place) {
        return packed_malloc(at, size, place, REAP_TAG_TIMED_MALLOC).short_stamp(ticks);
    }
    Payload &timed_free(uint64_t ticks, uint64_t at) {
        return packed_free(at, REAP_TAG_TIMED_FREE).short_stamp(ticks);
    }
    Payload &kept_alloc(uint64_t ticks, uint64_t at, uint64_t size, uint32_t stack) {
        return byte(format::hot_tag(REAP_TAG_KEPT_ALLOC, REAP_CALL_MALLOC))
            .stamp(ticks)
            .number(size)
            .address(at)
            .number(stack);
    }
    Payload &realloc(uint64_t before, uint64_t after, uint64_t from, uint64_t to, uint64_t size,
                     uint32_t stack = 0) {
        return byte(format::hot_tag(REAP_TAG_REALLOC, REAP_CALL_REALLOC))
            .stamp(before)
            .stamp(after)
            .address(from)
            .address(to)
            .number(size)
            .number(stack);
    }
    // A tag is any byte: those that no version knows yet are written too.
    Payload &record(unsigned tag, const Payload &body) {
        byte(tag).number(body.bytes_.size());
        bytes_.insert(bytes_.end(), body.bytes_.begin(), body.bytes_.end());
        return *this;
    }
    Payload &image(int64_t parent, uint32_t flags, const std::string &executable) {
        Payload body;
        body.number(static_cast<uint64_t>(parent + 1))
            .number(1)
            .number(flags)
            .text(executable)
            .text("/libc.so.6");
        return record(REAP_TAG_IMAGE, body.text(std::string("prog\0arg\0", 9)));
    }
    // Another thread goes on in the stream.
    Payload &takeover(uint64_t ticks, uint32_t tid) {
        return record(REAP_TAG_MARK, Payload().number(ticks).number(REAP_MARK_THREAD).number(tid));
    }
    Payload &frame(uint32_t id, uint64_t at, uint32_t parent) {
        return record(REAP_TAG_FRAME, Payload().number(id).number(at).number(parent));
    }

    Payload &module(const std::string &path, const std::string &build_id, uint64_t start, uint64_t end) {
        return record(REAP_TAG_MODULE,
                      Payload().number(0).number(start).number(end).number(start).text(path).text(build_id));
    }
    Payload &string(uint32_t id, const std::string &text) {
        return record(REAP_TAG_STRING, Payload().number(id).text(text));
    }
    // The name of one address, without a source file.
    Payload &name(uint32_t path, uint32_t build_id, uint64_t address, uint32_t function) {
        return record(REAP_TAG_NAMES, Payload()
                                          .number(REAP_NAMES_ADDRESS)
                                          .number(path)
                                          .number(build_id)
                                          .number(address)
                                          .number(1)
                                          .number(function)
                                          .number(0)
                                          .number(7)
                                          .number(0));
    }

    [[nodiscard]] const std::vector<unsigned char> &bytes() const { return bytes_; }

  private:
    uint64_t step_to(uint64_t at) {
        const uint64_t step = format::pack_step(last_address_, at);
        last_address_ = at;
        return step;
    }
    Payload &short_stamp(uint64_t ticks) {
        const uint64_t step = ticks - last_ticks_;
        last_ticks_ = ticks;
        return two_bytes(step);
    }
    Payload &two_bytes(uint64_t value) {
        if (value >> 16 != 0) std::abort();
        return byte(value & 255).byte(static_cast<unsigned>(value >> 8));
    }
    void append(const unsigned char *begin, const unsigned char *end) {
        bytes_.insert(bytes_.end(), begin, end);
    }

    std::vector<unsigned char> bytes_;
    uint64_t last_address_ = 0;
    uint64_t last_ticks_ = 0;
};

struct Where {
    uint32_t image = 0;
    uint32_t thread = 0;
    uint32_t sequence = 0;
};

// A file that is removed with the object. Stamps count nanoseconds from 0.
class TraceBuilder {
  public:
    explicit TraceBuilder(reap_depth depth = REAP_DEPTH_FULL) {
        const int descriptor = mkstemp(path_);
        if (descriptor >= 0) close(descriptor);
        header_.magic = REAP_TRACE_MAGIC;
        header_.version = REAP_TRACE_VERSION;
        header_.block_bytes = REAP_BLOCK_BYTES;
        header_.depth = depth;
        header_.clock = REAP_CLOCK_MONOTONIC_NS;
        header_.ticks_per_second = 1'000'000'000;
        header_.finished = 1;
    }
    ~TraceBuilder() { unlink(path_); }
    TraceBuilder(const TraceBuilder &) = delete;
    TraceBuilder &operator=(const TraceBuilder &) = delete;

    reap_file_header &header() { return header_; }

    TraceBuilder &block(reap_block_kind kind, const Where &where, const Payload &payload,
                        bool sealed = true) {
        return raw_block(kind, where, payload.bytes(), sealed);
    }

    TraceBuilder &raw_block(reap_block_kind kind, const Where &where,
                            const std::vector<unsigned char> &payload, bool sealed = true) {
        blocks_.push_back(make_block(kind, where, payload, sealed));
        return *this;
    }

    // Of the blocks that follow; without it each image has its own.
    void process(int pid) { pid_ = static_cast<uint32_t>(pid); }

    // The same block when more was committed to it. `index` counts from 0.
    void replace(size_t index, reap_block_kind kind, const Where &where, const Payload &payload,
                 bool sealed) {
        replace_raw(index, kind, where, payload.bytes(), sealed);
    }
    void replace_raw(size_t index, reap_block_kind kind, const Where &where,
                     const std::vector<unsigned char> &payload, bool sealed) {
        blocks_[index] = make_block(kind, where, payload, sealed);
    }

    [[nodiscard]] size_t size() const { return blocks_.size(); }

    // Writes a short block into the payload of a block of counters, at `place`.
    static void put_within(unsigned char *place, reap_block_kind kind, const Where &where,
                           const Payload &payload) {
        const reap_block_header head = make_head(kind, where, payload.bytes().size(), 0);
        std::memcpy(place, &head, sizeof head);
        std::copy(payload.bytes().begin(), payload.bytes().end(), place + sizeof head);
    }

    // The bytes of block `index`, to be damaged.
    std::vector<unsigned char> &bytes(size_t index) { return blocks_[index]; }

    // Writes the file, cut to `length` bytes if that is not 0, and returns its path.
    std::string write(uint64_t length = 0) {
        header_.next_block = static_cast<uint32_t>(blocks_.size() + 1);
        std::vector<unsigned char> first(REAP_BLOCK_BYTES);
        std::memcpy(first.data(), &header_, sizeof header_);
        std::FILE *file = std::fopen(path_, "wb");
        std::fwrite(first.data(), 1, first.size(), file);
        for (const auto &block : blocks_) std::fwrite(block.data(), 1, block.size(), file);
        std::fclose(file);
        if (length != 0 && truncate(path_, static_cast<off_t>(length)) != 0) std::abort();
        return path_;
    }

  private:
    [[nodiscard]] std::vector<unsigned char> make_block(reap_block_kind kind, const Where &where,
                                                        const std::vector<unsigned char> &payload,
                                                        bool sealed) const {
        std::vector<unsigned char> bytes(REAP_BLOCK_BYTES);
        reap_block_header head =
            make_head(kind, where, std::min<size_t>(payload.size(), REAP_PAYLOAD_BYTES), pid_);
        if (sealed) {
            head.flags = REAP_BLOCK_SEALED;
            head.checksum = native::checksum(payload.data(), head.committed, where.image);
        }
        std::memcpy(bytes.data(), &head, sizeof head);
        if (head.committed > 0) std::memcpy(bytes.data() + sizeof head, payload.data(), head.committed);
        return bytes;
    }

    static reap_block_header make_head(reap_block_kind kind, const Where &where, size_t committed,
                                       uint32_t pid) {
        reap_block_header head{};
        head.magic = REAP_BLOCK_MAGIC;
        head.kind = static_cast<uint16_t>(kind);
        head.pid = pid != 0 ? pid : 1000 + where.image;
        head.tid = 2000 + where.thread;
        head.image = where.image;
        head.thread = where.thread;
        head.sequence = where.sequence;
        head.committed = static_cast<uint32_t>(committed);
        return head;
    }

    char path_[32] = "/tmp/reap-trace-XXXXXX";
    reap_file_header header_{};
    uint32_t pid_ = 0;
    std::vector<std::vector<unsigned char>> blocks_;
};

} // namespace reap::test
