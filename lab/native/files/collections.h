// What CPython's garbage collector did. See reap_collections.h.
#pragma once

#include <string_view>
#include <vector>

#include "reap_collections.h"

namespace reap::native {

// The slots that a process has taken, of the bytes of such a file; those that make no sense are left out.
std::vector<reap_collections_slot> read_collections(std::string_view bytes);

} // namespace reap::native
