/* Handing the trace to processes that cannot open it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_TRACE_SERVER_H
#define REAP_SPAWN_TRACE_SERVER_H

namespace reap::spawn {

/// A socket at which a process that changed its root, its user or its mounts before it executed asks for the
/// trace, and gets an open descriptor. It shows that it was meant by a word from its environment.
class TraceServer {
  public:
    TraceServer() = default;
    ~TraceServer();
    TraceServer(const TraceServer &) = delete;
    TraceServer &operator=(const TraceServer &) = delete;

    /// `socket` is the value of REAP_SOCKET_ENV. Where it cannot be had, such processes are not recorded.
    void open(const char *socket);

    /// To be polled for input; -1 where there is none.
    int fd() const { return fd_; }

    /// Answers all who ask now, by `trace`.
    void serve(int trace) const;

  private:
    int fd_ = -1;
    const char *word_ = nullptr;
};

} // namespace reap::spawn

#endif
