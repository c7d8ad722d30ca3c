// glibc's __libc_single_threaded, for code on hot paths.
#pragma once

namespace reap::older {

// Points to it, or to 0 where there is none (before glibc 2.32).
extern const char *single_threaded __attribute__((visibility("hidden")));

} // namespace reap::older
