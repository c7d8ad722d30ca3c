/* Appends to the trace from outside the measured program.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_TRACE_BLOCK_H
#define REAP_SPAWN_TRACE_BLOCK_H

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "reap_encode.h"
#include "reap_trace.h"

namespace reap::spawn {

/// OUTSIDE blocks of one program. Collects records in memory and writes whole blocks: nothing is mapped, so a
/// full disk only loses samples.
class TraceBlocks {
  public:
    TraceBlocks() = default;
    ~TraceBlocks();
    TraceBlocks(const TraceBlocks &) = delete;
    TraceBlocks &operator=(const TraceBlocks &) = delete;

    /// Opens the trace that the recorder of `child` writes to. False with errno set.
    bool open(const char *path, pid_t child);

    /// The open trace.
    int fd() const { return fd_; }

    const reap_file_header &header() const { return *header_; }

    /// Converts a time of CLOCK_MONOTONIC to the trace's ticks.
    std::uint64_t ticks(std::int64_t monotonic_ns) const;

    /// A time on the trace's clock: exact, as a conversion is not.
    std::uint64_t ticks_now() const;

    /// What was before is no longer in the trace.
    void begin_at(std::uint64_t ticks);

    /// The block being filled; 0: none.
    std::uint64_t index() const { return index_; }

    /// Whether a launcher wrote the block with this head.
    static bool is_own(const reap_block_header &head);

    /// Whether a signal starts or stops the recording; if so, it does that now.
    bool pass_gate(int signal);

    /// Records in the header who samples instruction pointers, and whether time in the kernel is included.
    void set_sampler(reap_sampler sampler, bool kernel) {
        header_->sampler = sampler;
        header_->sampler_kernel = kernel ? 1 : 0;
    }

    /// A long record under construction. Fields that do not fit are dropped.
    class Record {
      public:
        Record(TraceBlocks &blocks, reap_tag tag, std::int64_t monotonic_ns);
        Record &number(std::uint64_t value);
        Record &text(const char *value);
        void commit();

      private:
        TraceBlocks &blocks_;
        reap_tag tag_;
        std::uint64_t ticks_;
        std::size_t length_ = 0;
        unsigned char body_[4608];
    };

    /// Extends the file, as a hole, before the recorder needs the space.
    void grow();

    /// Writes what has been collected, so that it survives if the launcher is killed.
    void flush();

  private:
    void append(reap_tag tag, std::uint64_t ticks, const unsigned char *body, std::size_t length);
    bool begin_block(std::uint64_t ticks);
    /// Whether another program truncated the file; then records that in its header, and writes no more.
    bool truncated();
    /// The file cannot grow: records the reason in its header, unless there is one already.
    void stop(int error);

    int fd_ = -1;
    reap_file_header *header_ = nullptr;
    pid_t child_ = 0;
    std::uint32_t sequence_ = 0;
    bool full_ = false;       // the file takes no more blocks
    std::uint64_t index_ = 0; // of the block being filled; 0: none
    alignas(8) unsigned char block_[REAP_BLOCK_BYTES];
};

} // namespace reap::spawn

#endif
