// The environment before libc knows it: as the kernel laid it out.
#pragma once

namespace reap::preload {

// The value of a variable; null if it is not set.
const char *find_variable(char **environment, const char *name) noexcept;

// Takes the litter's variable and this object's place in LD_PRELOAD out, so that programs which the program
// executes start as they would without. In place: not a byte of the stack moves.
void remove_traces(char **environment) noexcept;

} // namespace reap::preload
