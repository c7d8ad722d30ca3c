// The trace by the launcher's hands, for a process that cannot open it by its path.
#pragma once

namespace reap::preload {

// Asks the launcher for the trace: `socket` is the value of REAP_SOCKET_ENV. An open descriptor, or a
// negative number when the launcher is gone, does not answer within two seconds, or `socket` is not well
// formed.
int ask_launcher(const char *socket) noexcept;

} // namespace reap::preload
