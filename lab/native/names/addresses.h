// Which addresses of which modules the stacks of a recording have.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/definitions.h"

namespace reap::native {

struct ModuleAddresses {
    const Module *module;            // one of those of this path and build id
    std::vector<uint64_t> addresses; // in its file, of calls: in order, each once
};

// Modules of one path and build id are one. Cost: a look-up for each frame, and a sort.
std::vector<ModuleAddresses> addresses_of(const Definitions &definitions);

} // namespace reap::native
