// Whether a program that is about to be executed can load our preloads.
#pragma once

#include <cstdint>

namespace reap::preload {

enum class Kind : uint8_t {
    Ours,      // loaded by the loader of this process's C library, or unknown
    Static,    // no loader: ignores preloads
    Foreign,   // another CPU architecture or another loader, which would fail on our preloads
    Sanitized, // its sanitizer's runtime must come before all preloads, or it ends at once
    Lists,     // the loader, asked for the libraries of a program or about itself: it would list ours
};

// Reads the head of the file, of a script's interpreters, and of the program that the loader is to run, if it
// is executed itself: `argv` has it. `directory` is as for openat(). Opens a descriptor temporarily and
// allocates nothing.
Kind kind_of(int directory, const char *path, char *const *argv) noexcept;

} // namespace reap::preload
