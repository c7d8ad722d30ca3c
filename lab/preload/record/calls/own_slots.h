// Allocators' own functions, such as mallocx and mi_malloc. Nothing here exports them: a program may ask by a
// weak reference whether its allocator has one. Where a shared library defines them, the slots by which the
// modules of the process call them are set to our functions when the recorder starts, which is at the first
// call that it records. Modules that are opened later keep theirs, and are named: dlopen is a tail call,
// after which nothing of ours runs before the module's own functions do.
#pragma once

#include <cstdint>
#include <span>

#include "platform.h"

struct link_map;

namespace reap::preload {

// A function that is recorded where a shared library defines it.
struct OwnFunction {
    const char *symbol;
    void *(*wrapper)() noexcept; // the address of ours; null: it is not recorded
    void **real;                 // where its definition is kept: set before any slot, and then for good
};

std::span<const OwnFunction> own_functions() noexcept;

// Sets the slots of all modules that are loaded. Once, before anything is recorded.
void patch_own_slots() noexcept;

// Defines the modules of which `own_functions_of` is not 0: a reader looks only at modules that it knows.
void define_own_modules() noexcept;

// Defines the modules that were opened since and call such functions, for the reader to name. At every
// dlopen and dlclose, and at the end; inside the recorder.
void define_opened_modules() noexcept;

// Bits of enum reap_own: whose functions are recorded wherever `module` calls them, or where it defines them.
uint64_t own_functions_of(const link_map *module) noexcept;

} // namespace reap::preload
