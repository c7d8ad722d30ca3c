// What a loaded module exports.
#pragma once

#include <link.h>

namespace reap::preload {

// The address of an exported symbol of a module, or null. Reads the module's own tables: unlike dlsym it
// takes none of the loader's locks and allocates nothing. The module must stay loaded meanwhile.
const void *exported(const link_map *module, const char *name) noexcept;

} // namespace reap::preload
