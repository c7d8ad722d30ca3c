// Names of functions as their source has them.
#pragma once

#include <string>

namespace reap::native {

// Demangles names of Rust (both manglings), D and C++; others stay as they are. Older Rust mangles as C++
// does, with a hash behind the name. Empty for null.
std::string demangle(const char *name);

} // namespace reap::native
