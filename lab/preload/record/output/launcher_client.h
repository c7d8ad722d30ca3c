// Gets the trace from the launcher, for a process that cannot open it by its path.
#pragma once

namespace reap::preload {

// Requests the trace from the launcher; `socket` is the value of REAP_SOCKET_ENV. Returns an open descriptor,
// or a negative number if the launcher has ended, does not answer within two seconds, or `socket` is
// malformed.
int request_trace(const char *socket) noexcept;

} // namespace reap::preload
