/* Passes the trace to processes that cannot open it, and holds files for them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_TRACE_SERVER_H
#define REAP_SPAWN_TRACE_SERVER_H

#include "trace/held_files.h"

namespace reap::spawn {

/// A socket at which a process that changed its root, user or mounts before exec requests the trace and
/// receives an open descriptor. It authenticates with a secret from its environment.
class TraceServer {
  public:
    TraceServer() = default;
    ~TraceServer();
    TraceServer(const TraceServer &) = delete;
    TraceServer &operator=(const TraceServer &) = delete;

    /// `socket` is the value of REAP_SOCKET_ENV. If the socket cannot be created, such processes are not
    /// recorded.
    void open(const char *socket);

    /// To be polled for input; -1 if there is none.
    int fd() const { return fd_; }

    /// Answers all pending requests with the descriptor `trace`, and takes the files that were sent.
    void serve(int trace);

    const HeldFiles &held() const { return held_; }

  private:
    int fd_ = -1;
    const char *secret_ = nullptr;
    HeldFiles held_;
};

} // namespace reap::spawn

#endif
