// What loaded modules export, read from their own tables: unlike dlsym this waits for no library that another
// thread opens, and allocates nothing.
#pragma once

#include <link.h>

namespace reap::preload {

// The address of an exported symbol of a module in its default version, or null. The module must stay loaded
// meanwhile.
const void *exported(const link_map *module, const char *name) noexcept;

// The first definition in the modules that were loaded after the object that this is linked into, or null.
// Takes the lock of dl_iterate_phdr, which the loader does not hold while constructors run. About 0.1 us a
// module.
const void *exported_after_us(const char *name) noexcept;

} // namespace reap::preload
