/* What the launcher samples of a recorded program: instruction pointers and resident memory.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_SAMPLER_H
#define REAP_SPAWN_SAMPLER_H

#include "observe/observer.h"
#include "perf/sampler.h"
#include "trace/block.h"
#include "trace/ring.h"
#include "trace/server.h"
#include "trace/unrecorded.h"

namespace reap::spawn {

/// Writes instruction pointers and resident memory of the program's process tree into its trace.
class Sampler final : public Observer {
  public:
    /// `path` is the program's trace; its header specifies how to sample. `socket` is the value of
    /// REAP_SOCKET_ENV if the program is also recorded, else null. `held` is the folder for files of modules
    /// that are gone in the end; null: none.
    Sampler(const char *path, const char *socket, const char *held)
        : path_(path), socket_(socket), held_(held) {}

    bool attach(pid_t child) override;
    std::int64_t next_tick() const override { return next_; }
    void tick(std::int64_t now) override;
    void detach() override;
    bool takes(int signal) override { return trace_.pass_gate(signal); }
    int fd() const override { return server_.fd(); }
    void serve() override { server_.serve(trace_.fd()); }

  private:
    void measure_resident(std::int64_t now);

    const char *path_;
    const char *socket_;
    const char *held_;
    pid_t child_ = 0;
    std::int64_t started_ = 0;
    std::int64_t next_ = never;
    std::int64_t next_flush_ = 0;
    TraceBlocks trace_;
    PerfSampler perf_;
    TraceServer server_;
    Unrecorded unrecorded_;
    TraceRing ring_;
    bool sampling_ = false;
};

} // namespace reap::spawn

#endif
