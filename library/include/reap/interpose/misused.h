#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

#include "reap/core/mode.h"

namespace reap::inline REAP_MODE::interpose {

/// Reports on standard error that `function` of `library` was passed an address that is not an object's, and
/// ends the program.
[[noreturn, gnu::noinline, gnu::cold]] inline void misused(const char *library, const char *function,
                                                           const void *address) noexcept {
    char line[160];
    const int length =
        std::snprintf(line, sizeof line,
                      "%s: %s: %p is in no memory that malloc allocated, or that is still held; "
                      "a debugger's backtrace shows the call\n",
                      library, function, address);
    // Without stdio, whose buffers may be what was freed. Nothing can be done if this fails.
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line, static_cast<std::size_t>(length));
    std::abort();
}

} // namespace reap::inline REAP_MODE::interpose
