#include "trace_file.h"

#include <cstring>
#include <sys/mman.h>

#define XXH_INLINE_ALL
#define XXH_NO_STREAM
#include <xxhash.h>

#include "platform.h"
#include "stamp.h"

namespace reap::preload {

bool TraceFile::open(const char *path) noexcept {
    const size_t length = strlen(path);
    if (length == 0 || length >= sizeof path_) return false;
    memcpy(path_, path, length + 1);
    const int descriptor = open_shared(path_);
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
    return true;
}

uint32_t TraceFile::next_image() noexcept {
    return __atomic_fetch_add(&header_->next_image, 1, __ATOMIC_RELAXED);
}

void TraceFile::stopped(reap_stop reason, int error) noexcept {
    uint32_t none = REAP_STOP_NONE;
    if (__atomic_compare_exchange_n(&header_->stop_reason, &none, static_cast<uint32_t>(reason), false,
                                    __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        __atomic_store_n(&header_->stop_errno, static_cast<uint32_t>(error), __ATOMIC_RELAXED);
    }
    __atomic_fetch_add(&header_->stop_count, 1, __ATOMIC_RELAXED);
}

reap_block_header *TraceFile::add_block(reap_block_kind kind, const Owner &owner, uint32_t sequence,
                                        uint64_t base) noexcept {
    const int descriptor = open_shared(path_);
    if (descriptor < 0) {
        stopped(REAP_STOP_OPEN, -descriptor);
        return nullptr;
    }
    // Only now: a process that cannot open the file must not leave holes in it.
    const uint64_t index = __atomic_fetch_add(&header_->next_block, 1, __ATOMIC_RELAXED);
    const uint64_t offset = index * REAP_BLOCK_BYTES;
    // The space first: writing to a mapped page that the disk has no room for is a SIGBUS.
    const int error = allocate_space(descriptor, offset, REAP_BLOCK_BYTES);
    if (error != 0) {
        close_quietly(descriptor);
        stopped(REAP_STOP_NO_SPACE, error);
        return nullptr;
    }
    // An events block is filled to the end soon, so its sixteen page faults are better taken at once.
    const int populate = kind == REAP_BLOCK_EVENTS && depth() == REAP_DEPTH_FULL ? MAP_POPULATE : 0;
    void *memory = mmap(nullptr, REAP_BLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | populate, descriptor,
                        static_cast<off_t>(offset));
    const int map_error = errno;
    close_quietly(descriptor);
    if (memory == MAP_FAILED) {
        stopped(REAP_STOP_MAP, map_error);
        return nullptr;
    }
    auto *block = static_cast<reap_block_header *>(memory);
    block->kind = static_cast<uint16_t>(kind);
    block->pid = owner.pid;
    block->tid = owner.tid;
    block->process_start = owner.process_start;
    block->image = owner.image;
    block->thread = owner.thread;
    block->sequence = sequence;
    block->base_ticks = base;
    // Last, so that a reader never takes a half-written head for a block.
    __atomic_store_n(&block->magic, REAP_BLOCK_MAGIC, __ATOMIC_RELEASE);
    return block;
}

void TraceFile::seal(reap_block_header *block) noexcept {
    block->checksum = XXH3_64bits_withSeed(payload(block), block->committed, block->image);
    block->flags = REAP_BLOCK_SEALED;
    munmap(block, REAP_BLOCK_BYTES);
}

} // namespace reap::preload
