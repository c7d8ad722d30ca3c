/* What is seen of a recorded program from outside: where its time goes, and how much memory it holds.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_SAMPLER_H
#define REAP_SPAWN_SAMPLER_H

#include "observer.h"
#include "perf_sampler.h"
#include "trace_block.h"

namespace reap::spawn {

/// Writes instruction pointers and resident memory of the program's tree into its trace.
class Sampler final : public Observer {
  public:
    /// `path` is the trace that the program will be recorded into; its header says how to sample.
    explicit Sampler(const char *path) : path_(path) {}

    bool attach(pid_t child) override;
    std::int64_t next_tick() const override { return next_; }
    void tick(std::int64_t now) override;
    void detach() override;

  private:
    void measure_resident(std::int64_t now);

    const char *path_;
    pid_t child_ = 0;
    std::int64_t started_ = 0;
    std::int64_t next_ = never;
    std::int64_t next_flush_ = 0;
    TraceBlocks trace_;
    PerfSampler perf_;
    bool sampling_ = false;
};

} // namespace reap::spawn

#endif
