/* libreap-probe.so: reports which file provides each allocation function in this process.
 *
 * A loaded preload does not mean that malloc was replaced: the executable may export its own malloc, another
 * preload may come first, or an allocator may lack a function, so that two heaps are mixed. At process start
 * this object resolves the functions as the program does, and appends one record to the file named by
 * REAP_PROBE. It is preloaded in warm-up runs, never in measured ones.
 *
 * A record is a fixed number of NUL-terminated fields, written by one write(2) to a file opened with
 * O_APPEND, so that the records of a process tree do not mix: pid, executable, then the file that provides
 * each of `functions`, empty if there is none.
 *
 * Freestanding C++20: depends on libc only and allocates nothing itself.
 *
 * SPDX-License-Identifier: MIT
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "provider.h"

namespace {

using reap::preload::Provider;
using reap::preload::provider_of;

/// Keep in step with reap.launch.probe.FUNCTIONS.
constexpr const char *functions[] = {"malloc",        "free",           "calloc",   "realloc",
                                     "aligned_alloc", "posix_memalign", "memalign", "malloc_usable_size"};
constexpr size_t max_path = 4096;

class Line {
  public:
    void add(const char *field) {
        const size_t length = strlen(field) + 1;
        if (used_ + length > sizeof text_) return;
        memcpy(text_ + used_, field, length);
        used_ += length;
    }

    void append_to(const char *path) const {
        const int file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
        if (file < 0) return;
        (void)!write(file, text_, used_);
        close(file);
    }

  private:
    char text_[max_path * (2 + sizeof functions / sizeof *functions)] = {};
    size_t used_ = 0;
};

[[gnu::constructor]] void report() {
    const char *path = getenv("REAP_PROBE");
    if (path == nullptr) return;
    static constinit Line line;
    static char executable[max_path];
    char pid[16];
    snprintf(pid, sizeof pid, "%d", static_cast<int>(getpid()));
    const ssize_t length = readlink("/proc/self/exe", executable, sizeof executable - 1);
    executable[length > 0 ? length : 0] = '\0';
    line.add(pid);
    line.add(executable);
    for (const char *function : functions) {
        const Provider provider = provider_of(function);
        line.add(provider.executable ? executable : provider.file);
    }
    line.append_to(path);
}

} // namespace
