// The trace as one process of the recorded tree sees it: the shared header, and blocks on request.
#pragma once

#include <cstdint>

#include "reap_trace.h"

namespace reap::preload {

// Who a block belongs to.
struct Owner {
    uint32_t pid;
    uint32_t tid;
    uint64_t process_start;
    uint32_t image;
    uint32_t thread;
    uint64_t began; // ticks: not later than anything that the block will tell of
};

class TraceFile {
  public:
    // Maps the header of the trace at `path` (absolute). False when it is not there or not ours.
    // No descriptor stays open: a program may count on which numbers are free.
    bool open(const char *path) noexcept;

    [[nodiscard]] bool is_open() const noexcept { return header_ != nullptr; }
    [[nodiscard]] uint32_t depth() const noexcept { return header_->depth; }
    [[nodiscard]] uint32_t clock() const noexcept { return header_->clock; }
    [[nodiscard]] uint64_t ticks_per_second() const noexcept { return header_->ticks_per_second; }
    [[nodiscard]] uint64_t period_bytes() const noexcept { return header_->period_bytes; }
    [[nodiscard]] uint32_t sampler() const noexcept { return header_->sampler; }
    [[nodiscard]] uint32_t sampler_period_us() const noexcept { return header_->sampler_period_us; }

    // The next process image of the tree.
    uint32_t next_image() noexcept;

    // A fresh block, its space allocated and its head filled in; null when the file cannot grow or be mapped.
    // The reason is then in the header. About 15 us.
    // `base` is what its stamps count from.
    reap_block_header *add_block(reap_block_kind kind, const Owner &owner, uint32_t sequence,
                                 uint64_t base) noexcept;

    // Gives a full block its checksum and lets go of it.
    static void seal(reap_block_header *block) noexcept;

    static uint8_t *payload(reap_block_header *block) noexcept {
        return reinterpret_cast<uint8_t *>(block) + REAP_BLOCK_HEADER_BYTES;
    }

    // The payload up to `bytes` is whole: a reader may use it even if the process dies now.
    static void commit(reap_block_header *block, uint32_t bytes) noexcept {
        __atomic_store_n(&block->committed, bytes, __ATOMIC_RELEASE);
    }

  private:
    void stopped(reap_stop reason, int error) noexcept;

    reap_file_header *header_ = nullptr;
    char path_[4096] = {};
};

} // namespace reap::preload
