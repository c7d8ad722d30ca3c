// The trace as one process of the recorded tree sees it: the shared header, and blocks on request.
#pragma once

#include <cstdint>

#include "platform.h"
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
    // Maps the header of the trace at `path` (absolute). A process with another root or user that cannot open
    // it asks the launcher for it, by `socket` (see REAP_SOCKET_ENV; null: by none). False when it is not to
    // be had or not ours. No descriptor stays open: a program may count on which numbers are free.
    bool open(const char *path, const char *socket) noexcept;

    [[nodiscard]] bool is_open() const noexcept { return header_ != nullptr; }
    [[nodiscard]] uint32_t depth() const noexcept { return header_->depth; }
    [[nodiscard]] uint32_t clock() const noexcept { return header_->clock; }
    [[nodiscard]] uint64_t ticks_per_second() const noexcept { return header_->ticks_per_second; }
    [[nodiscard]] uint64_t period_bytes() const noexcept { return header_->period_bytes; }
    [[nodiscard]] uint32_t sampler() const noexcept { return header_->sampler; }
    [[nodiscard]] uint32_t sampler_period_us() const noexcept { return header_->sampler_period_us; }

    // The next process image of the tree.
    uint32_t next_image() noexcept;

    // A fresh block, its head filled in; null when the file cannot grow or be mapped. The reason is then in
    // the header. About 5 us. `base` is what its stamps count from.
    //
    // Of its payload `room` bytes at least may be written to, and are on return those that may be: writing to
    // a page that the disk has no room for is a SIGBUS.
    reap_block_header *add_block(reap_block_kind kind, const Owner &owner, uint32_t sequence, uint64_t base,
                                 uint32_t &room) noexcept;

    // Makes the bytes [begin, end) of the payload writable. False when there is no room on the disk, which
    // the header says then, or in a sandbox.
    bool make_room(reap_block_header *block, uint32_t begin, uint32_t end) noexcept;

    // From here on no system call is made for blocks: the process is about to lay a filter on itself, and
    // what that does not know may be its end. What blocks there will be are taken now; children of forks
    // share them.
    void enter_sandbox() noexcept;
    [[nodiscard]] bool in_sandbox() const noexcept { return sandbox_ != nullptr; }

    // A child takes its blocks from a mapping that it inherits: making one costs it as much as all else that
    // it does for the recording. The mapping is made here, in the parent, once for many children.
    void before_fork() noexcept;
    void after_fork_in_child() noexcept { window_lock_.reset(); }

    // The stamp of a moment of CLOCK_MONOTONIC.
    [[nodiscard]] uint64_t ticks(uint64_t monotonic_ns) const noexcept;

    // Gives a full block its checksum and lets go of it.
    void seal(reap_block_header *block) noexcept;

    static uint8_t *payload(reap_block_header *block) noexcept {
        return reinterpret_cast<uint8_t *>(block) + REAP_BLOCK_HEADER_BYTES;
    }

    // The payload up to `bytes` is whole: a reader may use it even if the process dies now.
    static void commit(reap_block_header *block, uint32_t bytes) noexcept {
        __atomic_store_n(&block->committed, bytes, __ATOMIC_RELEASE);
    }

    // A library was opened without the RTLD_DEEPBIND that it was to have.
    void note_deepbind() noexcept { __atomic_fetch_add(&header_->deepbind, 1, __ATOMIC_RELAXED); }

    // The recording stopped somewhere: says so in the header.
    void stopped(reap_stop reason, int error) noexcept;

  private:
    // What is kept for a process that makes no system calls any more.
    struct Sandbox {
        uint32_t taken; // (atomic) shared by the children of forks
        uint32_t count;
        uint8_t *blocks;
    };

    // The launcher makes it more.
    [[nodiscard]] uint64_t file_blocks() const noexcept {
        return __atomic_load_n(&header_->file_blocks, __ATOMIC_ACQUIRE);
    }
    bool map_header(int descriptor) noexcept;
    uint8_t *map_blocks(uint64_t index, uint32_t count) noexcept;
    uint8_t *map_by_path(uint64_t index) noexcept;
    uint8_t *take_reserved() noexcept;
    uint8_t *take_from_window(uint64_t index) noexcept;
    void drop_window() noexcept;

    reap_file_header *header_ = nullptr;
    Sandbox *sandbox_ = nullptr;
    bool lazy_ = false; // the kernel can make single pages writable

    // Blocks that are mapped before anybody takes them, by number; null: none.
    static constexpr uint64_t kWindow = 64;
    uint8_t *window_ = nullptr;
    uint64_t window_first_ = 0;
    uint64_t window_taken_ = 0; // a bit for each, ever
    FutexLock window_lock_;

    char path_[4096] = {};
};

} // namespace reap::preload
