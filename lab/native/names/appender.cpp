#include "names/appender.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>

#include "reap_encode.h"
#include "trace/checksum.h"

namespace reap::native {

LongFields &LongFields::number(uint64_t value) {
    unsigned char buffer[format::kMaxVarint];
    bytes_.insert(bytes_.end(), buffer, format::put_varint(buffer, value));
    return *this;
}

LongFields &LongFields::text(std::string_view value) {
    number(value.size());
    bytes_.insert(bytes_.end(), value.begin(), value.end());
    return *this;
}

bool is_complete(const BlockFile &trace) noexcept {
    return trace.header().finished != 0 && !trace.compressed();
}

Appender::Appender(const std::string &path, const BlockFile &trace)
    : path_(path), file_(::open(path.c_str(), O_WRONLY | O_CLOEXEC)), trace_(trace),
      next_(std::max(trace.header().next_block, UINT32_C(1))) {
    if (file_.get() < 0) throw std::system_error(errno, std::generic_category(), path_);
}

Appender::~Appender() {
    const uint64_t used = std::max(trace_.header().next_block, UINT32_C(1));
    if (!published_ && next_ > used)
        (void)!::ftruncate(file_.get(), static_cast<off_t>(used * REAP_BLOCK_BYTES));
}

void Appender::begin_image(const ImageInfo &image) {
    write_block();
    uint32_t sequence = 0;
    for (const BlockInfo &block : trace_.blocks()) {
        if (block.head.kind == REAP_BLOCK_DEFINITIONS && block.head.image == image.number)
            sequence = std::max(sequence, block.head.sequence + 1);
    }
    head_ = {};
    head_.magic = REAP_BLOCK_MAGIC;
    const unsigned beside = trace_.view() == View::Beside ? REAP_BLOCK_BESIDE : 0;
    head_.kind = static_cast<uint16_t>(REAP_BLOCK_DEFINITIONS | beside);
    head_.flags = REAP_BLOCK_SEALED;
    head_.pid = image.pid;
    head_.process_start = image.process_start;
    head_.image = image.number;
    head_.sequence = sequence;
    head_.base_ticks = image.first_ticks;
}

void Appender::add(reap_tag tag, const LongFields &fields) {
    LongFields length;
    length.number(fields.bytes().size());
    const size_t whole = 1 + length.bytes().size() + fields.bytes().size();
    if (whole > REAP_PAYLOAD_BYTES) return;
    if (payload_.size() + whole > REAP_PAYLOAD_BYTES) write_block();
    payload_.push_back(static_cast<unsigned char>(tag));
    payload_.insert(payload_.end(), length.bytes().begin(), length.bytes().end());
    payload_.insert(payload_.end(), fields.bytes().begin(), fields.bytes().end());
}

// In this order: a file of more blocks than the header says is sound, one of fewer is cut short.
void Appender::publish() {
    write_block();
    const uint32_t used = next_;
    published_ = true;
    write(&used, sizeof used, offsetof(reap_file_header, next_block));
    write(&used, sizeof used, offsetof(reap_file_header, file_blocks));
}

void Appender::write(const void *bytes, size_t length, uint64_t offset) {
    write_all(file_, bytes, length, offset, path_);
}

void Appender::write_block() {
    if (payload_.empty()) return;
    head_.committed = static_cast<uint32_t>(payload_.size());
    head_.checksum = checksum(payload_.data(), payload_.size(), head_.image);
    payload_.resize(REAP_PAYLOAD_BYTES);
    write(&head_, sizeof head_, uint64_t{next_} * REAP_BLOCK_BYTES);
    write(payload_.data(), payload_.size(), uint64_t{next_} * REAP_BLOCK_BYTES + REAP_BLOCK_HEADER_BYTES);
    payload_.clear();
    ++head_.sequence;
    ++next_;
}

} // namespace reap::native
