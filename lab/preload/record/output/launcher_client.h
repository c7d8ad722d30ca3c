// Gets the trace from the launcher, for a process that cannot open it by its path, and has it hold files.
#pragma once

#include <cstddef>

namespace reap::preload {

// Requests the trace from the launcher; `socket` is the value of REAP_SOCKET_ENV. Returns an open descriptor,
// or a negative number if the launcher has ended, does not answer within two seconds, or `socket` is
// malformed.
int request_trace(const char *socket) noexcept;

// Has the launcher hold the file at `path`, that a module called `name` was loaded from: names are looked up
// in it when the recording ends, and then it may be gone or replaced. Does not wait; what cannot be sent is
// not held. Preserves errno. Async-signal-safe.
void lend_file(const char *socket, const char *path, const char *name, size_t length) noexcept;

} // namespace reap::preload
