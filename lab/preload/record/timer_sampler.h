// In-process sampling of instruction pointers, for machines on which the launcher cannot use perf events.
#pragma once

#include <cstdint>

#include "output/trace_file.h"

namespace reap::preload {

// Starts a timer of the process's CPU time whose signal handler writes the interrupted instruction pointer to
// a block of its own. Uses a real-time signal that programs rarely use. Nothing is started if this program
// uses it or the timer cannot be created; if the program uses it later, the timer ends. Timers do not survive
// exec, and fork does not copy them.
void start_timer_sampler(TraceFile &trace, const Owner &process, uint32_t clock) noexcept;

// Ends the timer permanently, if this process has one: a sandbox may forbid the system call by which the
// handler returns.
void stop_timer_sampler() noexcept;

} // namespace reap::preload
