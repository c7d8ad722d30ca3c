// Keeps the program running when another program truncates the recording: an access to a mapped page beyond
// the end of its file raises SIGBUS.
#pragma once

#include <csignal>

namespace reap::preload {

class TraceFile;

// From now on handles SIGBUS for accesses by the recorder alone: the page is replaced by private memory, and
// `trace` is told. Every other SIGBUS does what it does without the recorder. A program that ignores the
// signal keeps ignoring it, and nothing is handled then. Survives fork.
void guard_lost_pages(TraceFile &trace) noexcept;

// In the child of a fork.
void guard_lost_pages_in_child() noexcept;

// Whether SIGBUS is handled. If so, the program's sigaction for SIGBUS is the function below, but in a child
// that shares its parent's memory (vfork).
bool guards_lost_pages() noexcept;
int change_bus_action(const struct sigaction *action, struct sigaction *old) noexcept;

} // namespace reap::preload
