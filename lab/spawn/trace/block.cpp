// SPDX-License-Identifier: MIT
#include "trace/block.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "reap_gate.h"
#include "reap_ticks.h"

namespace reap::spawn {
namespace {

/// The image number of blocks that belong to no image.
constexpr std::uint32_t no_image = UINT32_MAX;
/// How far the file is extended beyond its used blocks: 1 GB, sparse.
constexpr std::uint64_t blocks_ahead = 16384;
/// Maximum size of a record's tag, length and stamp.
constexpr std::size_t head_room = 32;

constexpr std::size_t page_size = 4096;
static_assert(sizeof(reap_file_header) <= page_size);

/// The mapped header; null: none.
void *mapped_header = nullptr;

/// Another program truncated the file: the header's page is replaced by private memory.
void replace_header(int number, siginfo_t *info, void *) {
    const auto offset =
        reinterpret_cast<std::uintptr_t>(info->si_addr) - reinterpret_cast<std::uintptr_t>(mapped_header);
    if (mapped_header != nullptr && info->si_code == BUS_ADRERR && offset < page_size &&
        mmap(mapped_header, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
             0) == mapped_header) {
        return;
    }
    std::signal(number, SIG_DFL); // the access recurs
}

} // namespace

TraceBlocks::~TraceBlocks() {
    mapped_header = nullptr;
    if (header_ != nullptr) munmap(header_, sizeof *header_);
    if (fd_ >= 0) close(fd_);
}

bool TraceBlocks::open(const char *path, pid_t child) {
    child_ = child;
    fd_ = ::open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd_ < 0) return false;
    void *memory = mmap(nullptr, sizeof *header_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    if (memory == MAP_FAILED) return false;
    header_ = static_cast<reap_file_header *>(memory);
    mapped_header = memory;
    struct sigaction action{};
    action.sa_sigaction = replace_header;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGBUS, &action, nullptr);
    if (header_->magic == REAP_TRACE_MAGIC && header_->version == REAP_TRACE_VERSION) return true;
    errno = EINVAL;
    return false;
}

std::uint64_t TraceBlocks::ticks(std::int64_t monotonic_ns) const {
    const double since =
        static_cast<double>(monotonic_ns - static_cast<std::int64_t>(header_->start_monotonic_ns));
    const double step = since * static_cast<double>(header_->ticks_per_second) * 1e-9;
    return header_->start_ticks + static_cast<std::uint64_t>(std::max(step, 0.0));
}

std::uint64_t TraceBlocks::ticks_now() const {
    return header_->clock == REAP_CLOCK_TSC ? reap_ticks() : static_cast<std::uint64_t>(now_ns());
}

void TraceBlocks::begin_at(std::uint64_t ticks) {
    std::uint64_t &began = header_->part.began_ticks;
    // Nobody else changes it now: a gate has been opened before.
    if (__atomic_load_n(&began, __ATOMIC_RELAXED) < ticks) __atomic_store_n(&began, ticks, __ATOMIC_RELAXED);
}

bool TraceBlocks::is_own(const reap_block_header &head) { return head.image == no_image; }

bool TraceBlocks::pass_gate(int signal) {
    const auto number = static_cast<std::uint32_t>(signal);
    const bool is_start = number == header_->part.start_signal;
    const bool is_stop = number == header_->part.stop_signal;
    format::pass_gate(*header_, is_start, is_stop, [this] { return ticks_now(); });
    return is_start || is_stop;
}

TraceBlocks::Record::Record(TraceBlocks &blocks, reap_tag tag, std::int64_t monotonic_ns)
    : blocks_(blocks), tag_(tag), ticks_(blocks.ticks(monotonic_ns)) {}

TraceBlocks::Record &TraceBlocks::Record::number(std::uint64_t value) {
    if (length_ + format::kMaxVarint <= sizeof body_) {
        length_ = static_cast<std::size_t>(format::put_varint(body_ + length_, value) - body_);
    }
    return *this;
}

TraceBlocks::Record &TraceBlocks::Record::text(const char *value) {
    const std::size_t length = std::strlen(value);
    if (length_ + format::kMaxVarint + length <= sizeof body_) {
        length_ = static_cast<std::size_t>(format::put_string(body_ + length_, value, length) - body_);
    }
    return *this;
}

void TraceBlocks::Record::commit() { blocks_.append(tag_, ticks_, body_, length_); }

bool TraceBlocks::begin_block(std::uint64_t ticks) {
    flush();
    if (full_ || truncated()) return false;
    index_ = __atomic_fetch_add(&header_->next_block, 1, __ATOMIC_RELAXED);
    reap_block_header head{};
    head.magic = REAP_BLOCK_MAGIC;
    head.kind = REAP_BLOCK_OUTSIDE;
    head.pid = static_cast<std::uint32_t>(child_);
    head.image = no_image;
    head.sequence = sequence_++;
    head.base_ticks = ticks;
    std::memset(block_, 0, sizeof block_);
    std::memcpy(block_, &head, sizeof head);
    return true;
}

void TraceBlocks::append(reap_tag tag, std::uint64_t ticks, const unsigned char *body, std::size_t length) {
    auto *head = reinterpret_cast<reap_block_header *>(block_);
    // The ring buffers of the CPUs are read one after another: a stamp may precede the block's.
    const bool fits = index_ != 0 && REAP_PAYLOAD_BYTES - head->committed >= length + head_room;
    if (!fits && !begin_block(ticks)) return;
    unsigned char stamp[format::kMaxVarint];
    const std::uint64_t since = ticks > head->base_ticks ? ticks - head->base_ticks : 0;
    const auto stamp_length = static_cast<std::size_t>(format::put_varint(stamp, since) - stamp);
    unsigned char *begin = block_ + REAP_BLOCK_HEADER_BYTES + head->committed;
    unsigned char *out = begin;
    *out++ = static_cast<unsigned char>(tag);
    out = format::put_varint(out, stamp_length + length);
    std::memcpy(out, stamp, stamp_length);
    std::memcpy(out + stamp_length, body, length);
    head->last_ticks = std::max(head->last_ticks, ticks);
    head->committed += static_cast<std::uint32_t>(out + stamp_length + length - begin);
}

void TraceBlocks::stop(int error) {
    full_ = true;
    std::uint32_t none = REAP_STOP_NONE;
    if (__atomic_compare_exchange_n(&header_->stop_reason, &none, REAP_STOP_NO_SPACE, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED)) {
        header_->stop_errno = static_cast<std::uint32_t>(error);
    }
}

bool TraceBlocks::truncated() {
    if (full_) return true;
    struct stat now{};
    const std::uint64_t expected = std::max<std::uint64_t>(header_->file_blocks, 1) * REAP_BLOCK_BYTES;
    if (header_->magic == REAP_TRACE_MAGIC && fstat(fd_, &now) == 0 &&
        static_cast<std::uint64_t>(now.st_size) >= expected) {
        return false;
    }
    full_ = true;
    // Whatever a process of the tree took for the reason: to it, a page beyond the end is one without space.
    header_->stop_reason = REAP_STOP_TRUNCATED;
    header_->stop_errno = 0;
    return true;
}

void TraceBlocks::grow() {
    if (truncated()) return;
    const std::uint64_t have = header_->file_blocks;
    const std::uint64_t used = __atomic_load_n(&header_->next_block, __ATOMIC_RELAXED);
    if (have == 0 || used + blocks_ahead / 2 < have) return;
    const std::uint64_t wanted = used + blocks_ahead;
    const std::uint64_t length = wanted * REAP_BLOCK_BYTES;
    rlimit limit{};
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || length > limit.rlim_cur || wanted > UINT32_MAX) return;
    // Not ftruncate, which could shorten the file: a process may have appended a block itself.
    constexpr std::uint64_t page = 4096;
    if (fallocate(fd_, 0, static_cast<off_t>(length - page), page) != 0) return;
    __atomic_store_n(&header_->file_blocks, static_cast<std::uint32_t>(wanted), __ATOMIC_RELEASE);
}

void TraceBlocks::flush() {
    if (index_ == 0 || truncated()) return;
    // Writing past the limit would raise SIGXFSZ, and if the launcher died the program's status would be
    // lost.
    rlimit limit{};
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        (index_ + 1) * REAP_BLOCK_BYTES > limit.rlim_cur) {
        return stop(EFBIG);
    }
    const auto offset = static_cast<off_t>(index_ * REAP_BLOCK_BYTES);
    for (std::size_t done = 0; done < sizeof block_;) {
        const ssize_t wrote =
            pwrite(fd_, block_ + done, sizeof block_ - done, offset + static_cast<off_t>(done));
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) {
            return stop(errno);
        }
        done += static_cast<std::size_t>(wrote);
    }
}

} // namespace reap::spawn
