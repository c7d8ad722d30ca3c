// The trace file in one process of the recorded tree: the shared header, and blocks on request.
#pragma once

#include <cstdint>

#include "output/exactness.h"
#include "platform.h"
#include "reap_gate.h"
#include "reap_trace.h"

namespace reap::preload {

// The owner of a block.
struct Owner {
    uint32_t pid;
    uint32_t tid;
    uint64_t process_start;
    uint32_t image;
    uint32_t thread;
    uint64_t began; // ticks: not later than any event in the block
};

class TraceFile {
  public:
    // Maps the header of the trace at `path` (absolute). A process with another root or user that cannot open
    // it requests it from the launcher by `socket` (see REAP_SOCKET_ENV; null: not). False if it is not
    // available or not valid. No descriptor stays open: a program may depend on the free descriptor numbers.
    bool open(const char *path, const char *socket) noexcept;

    [[nodiscard]] bool is_open() const noexcept { return header_ != nullptr; }
    [[nodiscard]] uint32_t depth() const noexcept { return header_->depth; }
    [[nodiscard]] uint32_t clock() const noexcept { return header_->clock; }
    [[nodiscard]] uint64_t ticks_per_second() const noexcept { return header_->ticks_per_second; }
    [[nodiscard]] uint64_t period_bytes() const noexcept { return header_->period_bytes; }
    [[nodiscard]] bool stamps_all() const noexcept { return header_->stamp_all != 0; }
    [[nodiscard]] bool merges_python() const noexcept { return header_->native_only == 0; }
    [[nodiscard]] uint32_t sampler() const noexcept { return header_->sampler; }
    [[nodiscard]] uint32_t sampler_period_us() const noexcept { return header_->sampler_period_us; }

    [[nodiscard]] uint64_t start_ticks() const noexcept { return header_->start_ticks; }

    // What every event is written for in triage: see Exactness.
    [[nodiscard]] Exactness exactness() const noexcept { return Exactness(header_->exact); }

    // Whether a part of the run is recorded, and where it is in it.
    [[nodiscard]] bool is_part() const noexcept { return format::gate_of(*header_) != REAP_GATE_NONE; }
    [[nodiscard]] reap_gate gate() const noexcept { return format::gate_of(*header_); }

    // A process enters the phase `name`: the part may begin or end here, in the whole tree.
    void reach_phase(const char *name, uint64_t now) noexcept;

    // The number of a new process image of the tree.
    uint32_t next_image() noexcept;

    // A new block with its header filled in; null if the file cannot grow or be mapped, with the reason in
    // the file header. About 5 us. `base` is the origin of its stamps.
    //
    // `room` is the number of payload bytes that must be writable, and on return the number that are: writing
    // to a page that the disk has no space for raises SIGBUS.
    reap_block_header *add_block(reap_block_kind kind, const Owner &owner, uint32_t sequence, uint64_t base,
                                 uint32_t &room) noexcept;

    // Makes the bytes [begin, end) of the payload writable. False in a sandbox, or if the disk is full, which
    // is then recorded in the header.
    bool allocate_pages(reap_block_header *block, uint32_t begin, uint32_t end) noexcept;

    // From now on no system call is made for blocks: the process is about to install a filter that may kill
    // it for one. Reserves all further blocks now; children of forks share them.
    void enter_sandbox() noexcept;
    [[nodiscard]] bool in_sandbox() const noexcept { return sandbox_ != nullptr; }

    // A child takes its blocks from an inherited mapping, because making one would cost it as much as the
    // rest of its recording. The mapping is made here, in the parent, once for many children. So that the
    // child need not map the header's page, the parent also takes its image number and first block for it.
    // If the fork fails, both stay unused. Until the fork has ended, the parent's other threads and signal
    // handlers take neither these nor blocks of the mapping.
    void before_fork() noexcept;
    void after_fork_in_parent() noexcept;
    // `by_handler`: by the handlers of fork, so that `before_fork` came before.
    void after_fork_in_child(bool by_handler) noexcept;

    // Converts a time of CLOCK_MONOTONIC to ticks.
    [[nodiscard]] uint64_t ticks(uint64_t monotonic_ns) const noexcept;

    // Writes the head of a block at `place`, where all else of it is 0.
    static reap_block_header *make_head(uint8_t *place, reap_block_kind kind, const Owner &owner,
                                        uint32_t sequence, uint64_t base) noexcept;

    // Writes a full block's checksum and unmaps it, unless it is within another.
    void seal(reap_block_header *block, bool within) noexcept;

    static uint8_t *payload(reap_block_header *block) noexcept {
        return reinterpret_cast<uint8_t *>(block) + REAP_BLOCK_HEADER_BYTES;
    }

    // Publishes the payload up to `bytes`: readers can use it even if the process dies now.
    static void commit(reap_block_header *block, uint32_t bytes) noexcept {
        __atomic_store_n(&block->committed, bytes, __ATOMIC_RELEASE);
    }

    // RTLD_DEEPBIND was removed from a call of dlopen.
    void note_deepbind() noexcept { __atomic_fetch_add(&header_->deepbind, 1, __ATOMIC_RELAXED); }

    // A library is about to be opened.
    void note_load() noexcept { __atomic_fetch_add(&header_->loads, 1, __ATOMIC_RELAXED); }

    // A page of the file is gone: it was truncated. No further blocks are added. Async-signal-safe.
    void lose_pages() noexcept;

    // Records in the header that recording stopped somewhere.
    void record_stop(reap_stop reason, int error) noexcept;

  private:
    void stop_at_limit(uint64_t ticks) noexcept;
    // Blocks reserved for a process that makes no further system calls.
    struct Sandbox {
        uint32_t taken; // (atomic) shared by the children of forks
        uint32_t count;
        uint8_t *blocks;
    };

    // What the parent took for the child of a fork; block 0: nothing.
    struct ForChild {
        uint64_t block = 0;
        uint32_t image = 0;
        bool has_image = false;
    };

    // Increased by the launcher.
    [[nodiscard]] uint64_t file_blocks() const noexcept {
        return __atomic_load_n(&header_->file_blocks, __ATOMIC_ACQUIRE);
    }
    [[nodiscard]] bool lost() const noexcept { return __atomic_load_n(&lost_, __ATOMIC_RELAXED); }
    bool map_header(int descriptor) noexcept;
    uint8_t *map_blocks(uint64_t index, uint32_t count) noexcept;
    uint8_t *map_by_path(uint64_t index) noexcept;
    uint64_t next_block() noexcept;
    uint8_t *take_reserved() noexcept;
    uint8_t *take_from_window(uint64_t index) noexcept;
    uint8_t *take_from_new_window(uint64_t index) noexcept;
    bool map_window(uint64_t first, uint32_t count) noexcept;
    void drop_window() noexcept;

    reap_file_header *header_ = nullptr;
    Sandbox *sandbox_ = nullptr;
    bool lazy_ = false; // the kernel can make single pages writable
    bool lost_ = false; // (atomic) the file was truncated

    // Consecutive blocks that are mapped in advance; null: none. For the children of a fork there are more.
    static constexpr uint32_t kWindow = 16;
    static constexpr uint32_t kWindowForForks = 64;
    uint8_t *window_ = nullptr;
    uint64_t window_first_ = 0;
    uint32_t window_blocks_ = 0;
    uint64_t window_taken_ = 0; // a bit per block that was ever taken
    ForChild reserved_;         // for the child of the fork in progress; the parent uses none of it
    ForChild given_;            // in the child: the same
    bool keeps_window_ = false; // a fork is in progress, and holds the lock
    FutexLock window_lock_;

    char path_[4096] = {};
};

} // namespace reap::preload
