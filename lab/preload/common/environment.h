// The environment as the kernel laid it out, before libc knows it.
#pragma once

namespace reap::preload {

// The value of a variable; null if it is not set.
const char *find_variable(char **environment, const char *name) noexcept;

// Removes the litter's variable, and this object from LD_PRELOAD, so that programs executed by this one start
// without them. In place: no byte of the stack moves.
void remove_traces(char **environment) noexcept;

} // namespace reap::preload
