/* Appending to the trace from outside the measured program.
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

/// OUTSIDE blocks of one program. Collects records in memory and writes whole blocks, so that nothing is
/// mapped and a full disk costs samples and no more.
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

    /// The stamp of a moment of CLOCK_MONOTONIC, in the trace's ticks.
    std::uint64_t ticks(std::int64_t monotonic_ns) const;

    /// Says in the header who samples instruction pointers, and whether time in the kernel is seen.
    void set_sampler(reap_sampler sampler, bool kernel) {
        header_->sampler = sampler;
        header_->sampler_kernel = kernel ? 1 : 0;
    }

    /// A long record being put together. Fields that do not fit are cut off with the record.
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

    /// Makes the file longer, as a hole, where the recorder is about to need it.
    void grow();

    /// Writes what has been collected, so that it survives the launcher's death.
    void flush();

  private:
    void append(reap_tag tag, std::uint64_t ticks, const unsigned char *body, std::size_t length);
    bool begin_block(std::uint64_t ticks);
    /// The file takes no more: says so in its header, if it is the first to say so.
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
