#pragma once

#include "reap/core/mode.h"

namespace reap::inline REAP_MODE::interpose {

/// Says on standard error that `function` was given an address that is no object's, and ends the program.
[[noreturn]] void misused(const char *function, const void *address) noexcept;

} // namespace reap::inline REAP_MODE::interpose
