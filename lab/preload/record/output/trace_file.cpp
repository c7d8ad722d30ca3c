#include "output/trace_file.h"

#include <cstring>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#define XXH_NO_STREAM
#include <xxhash.h>

#include "output/launcher_client.h"
#include "platform.h"

namespace reap::preload {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint32_t kReservedInTriage = 16; // 1 MB
constexpr uint32_t kReservedInFull = 256;  // 16 MB

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 // Linux 5.14
#endif

// Allocates the pages of a mapped file as writing to each would, but without SIGBUS; 0 or an errno.
int populate(uint8_t *begin, uint64_t length) noexcept {
    for (;;) {
        const long error = -raw_call(SYS_madvise, reinterpret_cast<long>(begin), static_cast<long>(length),
                                     MADV_POPULATE_WRITE);
        if (error != EINTR && error != EAGAIN) return static_cast<int>(error);
    }
}

} // namespace

bool TraceFile::open(const char *path, const char *socket) noexcept {
    const size_t length = strlen(path);
    if (length == 0 || length >= sizeof path_) return false;
    memcpy(path_, path, length + 1);
    return map_header(open_shared(path_)) || (socket != nullptr && map_header(request_trace(socket)));
}

bool TraceFile::map_header(int descriptor) noexcept {
    if (descriptor < 0) return false;
    void *memory = mmap(nullptr, sizeof(reap_file_header), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close_quietly(descriptor);
    if (memory == MAP_FAILED) return false;
    auto *header = static_cast<reap_file_header *>(memory);
    if (header->magic != REAP_TRACE_MAGIC || header->version != REAP_TRACE_VERSION ||
        header->block_bytes != REAP_BLOCK_BYTES || header->finished != 0) {
        munmap(memory, sizeof(reap_file_header));
        return false;
    }
    header_ = header;
    // Inherited by the blocks' mappings. Disables readahead, which in a hole would fill the page cache with
    // zeros.
    madvise(memory, kPage, MADV_RANDOM);
    lazy_ = populate(static_cast<uint8_t *>(memory), kPage) == 0;
    return true;
}

uint32_t TraceFile::next_image() noexcept {
    if (given_.has_image) {
        given_.has_image = false;
        return given_.image;
    }
    return __atomic_fetch_add(&header_->next_image, 1, __ATOMIC_RELAXED);
}

uint64_t TraceFile::ticks(uint64_t monotonic_ns) const noexcept {
    const auto since = static_cast<double>(monotonic_ns - header_->start_monotonic_ns);
    const double step = since * static_cast<double>(header_->ticks_per_second) * 1e-9;
    return header_->start_ticks + static_cast<uint64_t>(step);
}

void TraceFile::record_stop(reap_stop reason, int error) noexcept {
    uint32_t none = REAP_STOP_NONE;
    if (__atomic_compare_exchange_n(&header_->stop_reason, &none, static_cast<uint32_t>(reason), false,
                                    __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        __atomic_store_n(&header_->stop_errno, static_cast<uint32_t>(error), __ATOMIC_RELAXED);
    }
    __atomic_fetch_add(&header_->stop_count, 1, __ATOMIC_RELAXED);
}

void TraceFile::reach_phase(const char *name, uint64_t now) noexcept {
    const auto &part = header_->part;
    format::pass_gate(*header_, format::enters(name, part.start_phase), format::enters(name, part.stop_phase),
                      [now] { return now; });
}

// A thread stops where its block is full, so the first one's last event is where events begin to be missing.
void TraceFile::stop_at_limit(uint64_t ticks) noexcept {
    uint64_t none = 0;
    __atomic_compare_exchange_n(&header_->stop_ticks, &none, ticks, false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
    record_stop(REAP_STOP_SIZE, 0);
}

void TraceFile::lose_pages() noexcept {
    if (__atomic_exchange_n(&lost_, true, __ATOMIC_RELAXED)) return;
    // The header may be lost too: then the launcher says what happened.
    if (populate(reinterpret_cast<uint8_t *>(header_), kPage) == 0) record_stop(REAP_STOP_TRUNCATED, 0);
}

// Maps blocks without a descriptor, by copying the header's mapping with a larger size. So the process's
// root, user and descriptor table do not matter.
uint8_t *TraceFile::map_blocks(uint64_t index, uint32_t count) noexcept {
    const uint64_t before = index * REAP_BLOCK_BYTES;
    void *memory = mremap(header_, 0, before + uint64_t{count} * REAP_BLOCK_BYTES, MREMAP_MAYMOVE);
    if (memory == MAP_FAILED) return nullptr;
    munmap(memory, before);
    return static_cast<uint8_t *>(memory) + before;
}

// Does not wait for the lock: a signal handler may take a block while its thread does.
uint8_t *TraceFile::take_from_window(uint64_t index) noexcept {
    if (!window_lock_.try_lock()) return nullptr;
    const uint64_t place = index - window_first_; // below it: wraps around
    uint8_t *memory = nullptr;
    if (window_ != nullptr && place < window_blocks_) {
        memory = window_ + place * REAP_BLOCK_BYTES;
        window_taken_ |= uint64_t{1} << place;
    }
    window_lock_.unlock();
    return memory;
}

// Two system calls for many blocks: a program of many threads takes one for each of them.
uint8_t *TraceFile::take_from_new_window(uint64_t index) noexcept {
    if (!window_lock_.try_lock()) return nullptr;
    const bool mapped = map_window(index, kWindow);
    if (mapped) window_taken_ = 1;
    uint8_t *const memory = mapped ? window_ : nullptr;
    window_lock_.unlock();
    return memory;
}

bool TraceFile::map_window(uint64_t first, uint32_t count) noexcept {
    if (first + count > file_blocks()) return false;
    const ErrnoGuard keep;
    uint8_t *const fresh = map_blocks(first, count);
    if (fresh == nullptr) return false;
    drop_window();
    window_ = fresh;
    window_first_ = first;
    window_blocks_ = count;
    window_taken_ = 0;
    return true;
}

void TraceFile::before_fork() noexcept {
    if (!lazy_ || lost() || sandbox_ != nullptr || !window_lock_.try_lock()) return;
    const uint64_t next = __atomic_load_n(&header_->next_block, __ATOMIC_RELAXED);
    constexpr uint64_t kKept = kWindowForForks / 4;
    const bool serves =
        window_ != nullptr && next >= window_first_ && next + kKept < window_first_ + window_blocks_;
    if (!serves) map_window(next, kWindowForForks);
    keeps_window_ = true;
    reserved_ = {next_block(), next_image(), true};
}

void TraceFile::after_fork_in_parent() noexcept {
    reserved_ = {};
    if (!keeps_window_) return;
    keeps_window_ = false;
    window_lock_.unlock();
}

// Without the lock, another thread of the parent may have been changing the window during the fork.
void TraceFile::after_fork_in_child(bool by_handler) noexcept {
    if (by_handler && keeps_window_) {
        given_ = reserved_;
    } else {
        given_ = {};
        window_ = nullptr;
    }
    reserved_ = {};
    keeps_window_ = false;
    window_lock_.reset();
}

// 0: the file was truncated, and has grown again.
uint64_t TraceFile::next_block() noexcept {
    if (given_.block == 0) return __atomic_fetch_add(&header_->next_block, 1, __ATOMIC_RELAXED);
    const uint64_t index = given_.block;
    given_.block = 0;
    return index;
}

// Unmaps the blocks that were not taken. Those that this process took are unmapped when full; those of its
// parent may already be unmapped, and their addresses reused.
void TraceFile::drop_window() noexcept {
    for (uint64_t place = 0; window_ != nullptr && place < window_blocks_;) {
        uint64_t end = place;
        while (end < window_blocks_ && (window_taken_ >> end & 1) == 0) ++end;
        if (end > place) munmap(window_ + place * REAP_BLOCK_BYTES, (end - place) * REAP_BLOCK_BYTES);
        place = end + 1;
    }
    window_ = nullptr;
}

// For kernels and file systems without support for that, and for blocks beyond `file_blocks`.
uint8_t *TraceFile::map_by_path(uint64_t index) noexcept {
    const int descriptor = open_shared(path_);
    if (descriptor < 0) {
        record_stop(REAP_STOP_OPEN, -descriptor);
        return nullptr;
    }
    const uint64_t offset = index * REAP_BLOCK_BYTES;
    const int error = allocate_space(descriptor, offset, REAP_BLOCK_BYTES);
    if (error != 0) {
        close_quietly(descriptor);
        record_stop(REAP_STOP_NO_SPACE, error);
        return nullptr;
    }
    void *memory = mmap(nullptr, REAP_BLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor,
                        static_cast<off_t>(offset));
    const int map_error = errno;
    close_quietly(descriptor);
    if (memory == MAP_FAILED) {
        record_stop(REAP_STOP_MAP, map_error);
        return nullptr;
    }
    return static_cast<uint8_t *>(memory);
}

void TraceFile::enter_sandbox() noexcept {
    if (sandbox_ != nullptr) return;
    const uint32_t count = depth() == REAP_DEPTH_FULL ? kReservedInFull : kReservedInTriage;
    void *shared = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return;
    auto *sandbox = static_cast<Sandbox *>(shared);
    if (lazy_) {
        const uint64_t index = __atomic_fetch_add(&header_->next_block, count, __ATOMIC_RELAXED);
        const uint64_t bytes = uint64_t{count} * REAP_BLOCK_BYTES;
        if (index + count <= file_blocks()) sandbox->blocks = map_blocks(index, count);
        if (sandbox->blocks != nullptr && populate(sandbox->blocks, bytes) == 0) sandbox->count = count;
    }
    sandbox_ = sandbox;
}

uint8_t *TraceFile::take_reserved() noexcept {
    const uint32_t number = __atomic_fetch_add(&sandbox_->taken, 1, __ATOMIC_RELAXED);
    if (number < sandbox_->count) return sandbox_->blocks + uint64_t{number} * REAP_BLOCK_BYTES;
    __atomic_store_n(&sandbox_->taken, sandbox_->count, __ATOMIC_RELAXED); // it must not overflow
    record_stop(REAP_STOP_SANDBOX, 0);
    return nullptr;
}

bool TraceFile::allocate_pages(reap_block_header *block, uint32_t begin, uint32_t end) noexcept {
    if (!lazy_) return true; // all of it was allocated at once
    if (sandbox_ != nullptr || lost()) return false;
    const uint64_t first = (REAP_BLOCK_HEADER_BYTES + begin) & ~(kPage - 1);
    const uint64_t last = (REAP_BLOCK_HEADER_BYTES + end + kPage - 1) & ~(kPage - 1);
    const int error = populate(reinterpret_cast<uint8_t *>(block) + first, last - first);
    if (error == 0) return true;
    record_stop(REAP_STOP_NO_SPACE, error == EFAULT ? ENOSPC : error);
    return false;
}

reap_block_header *TraceFile::add_block(reap_block_kind kind, const Owner &owner, uint32_t sequence,
                                        uint64_t base, uint32_t &room) noexcept {
    if (kind == REAP_BLOCK_EVENTS && gate() == REAP_GATE_ENDED) return nullptr;
    if (kind == REAP_BLOCK_EVENTS && header_->max_blocks != 0 &&
        __atomic_load_n(&header_->next_block, __ATOMIC_RELAXED) >= header_->max_blocks) {
        stop_at_limit(base);
        return nullptr;
    }
    uint8_t *memory = nullptr;
    bool whole = true; // all of its pages are allocated
    if (sandbox_ != nullptr) {
        memory = take_reserved();
    } else {
        const uint64_t index = lost() ? 0 : next_block();
        if (unlikely(index == 0)) { // as in a file that was truncated, and has grown again
            lose_pages();
            return nullptr;
        }
        memory = take_from_window(index);
        if (memory == nullptr) {
            const ErrnoGuard keep;
            if (lazy_) memory = take_from_new_window(index);
            if (memory == nullptr && lazy_ && index < file_blocks()) memory = map_blocks(index, 1);
            whole = memory == nullptr;
            if (whole) memory = map_by_path(index);
        } else {
            whole = false;
        }
    }
    if (memory == nullptr) return nullptr;
    auto *block = reinterpret_cast<reap_block_header *>(memory);
    if (whole) {
        room = REAP_PAYLOAD_BYTES;
    } else {
        if (!allocate_pages(block, 0, room)) {
            munmap(block, REAP_BLOCK_BYTES);
            return nullptr;
        }
        room = static_cast<uint32_t>(((REAP_BLOCK_HEADER_BYTES + room + kPage - 1) & ~(kPage - 1)) -
                                     REAP_BLOCK_HEADER_BYTES);
    }
    return make_head(memory, kind, owner, sequence, base);
}

reap_block_header *TraceFile::make_head(uint8_t *place, reap_block_kind kind, const Owner &owner,
                                        uint32_t sequence, uint64_t base) noexcept {
    auto *block = reinterpret_cast<reap_block_header *>(place);
    block->kind = static_cast<uint16_t>(kind);
    block->pid = owner.pid;
    block->tid = owner.tid;
    block->process_start = owner.process_start;
    block->image = owner.image;
    block->thread = owner.thread;
    block->sequence = sequence;
    block->base_ticks = base;
    // Last, so that a reader never sees a partial header as a block.
    __atomic_store_n(&block->magic, REAP_BLOCK_MAGIC, __ATOMIC_RELEASE);
    return block;
}

void TraceFile::seal(reap_block_header *block, bool within) noexcept {
    block->checksum = XXH3_64bits_withSeed(payload(block), block->committed, block->image);
    __atomic_store_n(&block->flags, static_cast<uint16_t>(REAP_BLOCK_SEALED), __ATOMIC_RELEASE);
    if (sandbox_ == nullptr && !within) munmap(block, REAP_BLOCK_BYTES);
}

} // namespace reap::preload
