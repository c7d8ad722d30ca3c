// The library's own introspection interface at run time.
#include "reap/interpose/mallctl.h"

#include <cstddef>

#include "reap/interpose/control.h"
#include "served.h"

#pragma GCC visibility push(default)
extern "C" int reap_mallctl(const char *name, void *old_value, std::size_t *old_size, const void *new_value,
                            std::size_t new_size) {
    return reap::interpose::Control(old_value, old_size, new_value, new_size).ask<Served>(name, REAP_VERSION);
}
#pragma GCC visibility pop
