// Sampling of instruction pointers from inside, for machines that do not let the launcher use perf events.
#pragma once

#include <cstdint>

#include "output/trace_file.h"

namespace reap::preload {

// Starts a timer of the process's CPU time whose signal handler writes the interrupted instruction pointer
// into a block of its own. The signal is a real-time one that programs do not use; where this one does, or
// where the timer cannot be made, nothing is started, and where it does later, the timer ends. Timers do not
// survive exec, and fork does not copy them.
void start_timer_sampler(TraceFile &trace, const Owner &process, uint32_t clock) noexcept;

// Ends it for good, where this process has one: its handler may not return to a sandbox that does not know
// how.
void stop_timer_sampler() noexcept;

} // namespace reap::preload
