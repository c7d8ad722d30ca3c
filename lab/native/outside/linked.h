// Allocators that are linked into a file beside code of others, by the names of their functions.
#pragma once

#include <string>
#include <vector>

#include "symbols/symbols.h"

namespace reap::native {

// The functions of allocators with names of their own, under any prefix (see symbols/own_names.h), that a
// file defines, and those of a malloc that it brings; none of an allocator of which it lacks the function
// that allocates, since others use the same prefixes. Empty without symbols.
std::vector<AddressRange> linked_allocators(Symbolizer &symbols, const std::string &path);

} // namespace reap::native
