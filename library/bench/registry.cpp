#include "registry.h"

#include <dlfcn.h>

namespace bench {

std::vector<Entry> &registry() {
    static std::vector<Entry> entries;
    return entries;
}

std::vector<void (*)(const Loaded &)> &loaders() {
    static std::vector<void (*)(const Loaded &)> functions;
    return functions;
}

void *Loaded::find(const char *function) const { return dlsym(library, function); }

} // namespace bench
