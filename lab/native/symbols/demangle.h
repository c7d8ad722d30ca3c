// Names of functions as their source has them.
#pragma once

#include <string>

namespace reap::native {

// Of Rust (both manglings), D and C++; others stay as they are. That of older Rust is C++'s, with a hash
// behind the name. Empty for null.
std::string demangle(const char *name);

} // namespace reap::native
