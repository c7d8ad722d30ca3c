/* Everything about a program that can be seen from outside while it runs.
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

/// What is watched beside what a thread waits for.
struct Watch {
    bool any = false;
    bool samples = false; ///< instruction pointers with their callers
    bool faults = false;  ///< page faults: each costs the program a tenth of a microsecond
    bool calls = false;   ///< system calls: each costs the program a microsecond
};

/// Writes into the program's trace where its time goes, its page faults, system calls and waits, and the
/// memory that it holds.
class Watcher final : public Observer {
  public:
    /// Where the program is recorded, too, `socket` is the value of REAP_SOCKET_ENV.
    Watcher(const char *path, const char *socket, Watch watch)
        : path_(path), socket_(socket), watch_(watch) {}

    /// A program that has not executed yet.
    bool attach(pid_t child) override;
    /// A process that runs, with all of its threads. False with errno.
    bool attach_running(pid_t process);

    std::int64_t next_tick() const override { return looker_.next(); }
    void tick(std::int64_t now) override;
    void detach() override;
    int fd() const override { return server_.fd(); }
    void serve() override { server_.serve(trace_.fd()); }

  private:
    bool open(pid_t process);
    bool attach_threads(pid_t process);
    void attach_thread(pid_t thread, bool running);
    void say_sampler();
    void drain();

    const char *path_;
    const char *socket_;
    Watch watch_;
    pid_t process_ = 0; ///< attached to while it ran; 0: a child of ours
    pid_t first_ = 0;
    std::int64_t next_flush_ = 0;
    TraceBlocks trace_;
    PerfSampler samples_;
    FaultSampler faults_;
    CallWatcher calls_;
    Looker looker_;
    TraceServer server_;
    Unrecorded unrecorded_;
    int samples_error_ = 0;
    int faults_error_ = 0;
    int calls_error_ = 0;
};

} // namespace reap::spawn

#endif
