#include "misused.h"

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

void reap::interpose::misused(const char *function, const void *address) noexcept {
    char line[160];
    const int length =
        std::snprintf(line, sizeof line,
                      "libreap-malloc: %s: %p is in no memory that malloc handed out, or that is still held; "
                      "a debugger's backtrace shows the call\n",
                      function, address);
    // Nothing can be done if this fails.
    if (length > 0) [[maybe_unused]]
        const auto written = ::write(STDERR_FILENO, line, static_cast<std::size_t>(length));
    std::abort();
}
