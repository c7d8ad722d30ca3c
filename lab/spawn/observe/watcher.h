/* Watches a program from outside while it runs.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_WATCHER_H
#define REAP_SPAWN_WATCHER_H

#include "observe/observer.h"
#include "perf/call_watcher.h"
#include "perf/fault_sampler.h"
#include "perf/sampler.h"
#include "proc/poller.h"
#include "trace/block.h"
#include "trace/server.h"
#include "trace/unrecorded.h"

namespace reap::spawn {

/// What is watched besides waits.
struct Watch {
    bool any = false;
    bool samples = false; ///< instruction pointers with their callers
    bool faults = false;  ///< page faults: 0.1 us of the program's time each
    bool calls = false;   ///< system calls: 1 us of the program's time each
};

/// Writes instruction pointers, page faults, system calls, waits and memory of a program into its trace.
class Watcher final : public Observer {
  public:
    /// `socket` is the value of REAP_SOCKET_ENV if the program is also recorded, else null.
    Watcher(const char *path, const char *socket, const char *held, Watch watch)
        : path_(path), socket_(socket), held_(held), watch_(watch) {}

    /// Attaches to a program before its exec.
    bool attach(pid_t child) override;
    /// Attaches to a running process with all of its threads. False with errno set.
    bool attach_running(pid_t process);

    std::int64_t next_tick() const override { return poller_.next(); }
    void tick(std::int64_t now) override;
    void detach() override;
    int fd() const override { return server_.fd(); }
    void serve() override { server_.serve(trace_.fd()); }

  private:
    bool open(pid_t process);
    bool attach_threads(pid_t process);
    void attach_thread(pid_t thread, bool running);
    void record_sampler();
    void drain();

    const char *path_;
    const char *socket_;
    const char *held_; // folder for files of modules that are gone in the end; null: none
    Watch watch_;
    pid_t process_ = 0; ///< a running process that was attached to; 0: our child
    pid_t first_ = 0;
    std::int64_t next_flush_ = 0;
    TraceBlocks trace_;
    PerfSampler samples_;
    FaultSampler faults_;
    CallWatcher calls_;
    TreePoller poller_;
    TraceServer server_;
    Unrecorded unrecorded_;
    int samples_error_ = 0;
    int faults_error_ = 0;
    int calls_error_ = 0;
};

} // namespace reap::spawn

#endif
