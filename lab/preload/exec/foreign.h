// Whether a program that is about to be executed can take our preloads.
#pragma once

#include <cstdint>

namespace reap::preload {

enum class Kind : uint8_t {
    Ours,    // the loader of this process's C library will load it, or nothing is known of it
    Static,  // no loader: it ignores preloads
    Foreign, // another processor or another loader, which would stumble over our preloads
};

// Reads the head of the file, and of the interpreters of scripts. `directory` is as openat() has it. Opens a
// descriptor for a moment, allocates nothing.
Kind kind_of(int directory, const char *path) noexcept;

} // namespace reap::preload
