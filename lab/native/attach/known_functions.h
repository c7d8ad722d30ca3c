// Functions of allocators that are counted from outside, by name: what each does, and what its arguments are.
//
// The lists have wrappers of other functions in them, too: Target::functions sees by their code which calls
// another one counts.
#pragma once

#include <map>
#include <string>

#include "reap_own_functions.h"
#include "symbols/own_names.h"

namespace reap::native {

struct KnownFunction {
    reap_call call;
    const char *arguments; // see reap_own_functions.h
};

// Functions that an allocator may have, by their names with its prefix. Of no allocator: malloc, its like,
// the operators of C++, and jemalloc's, which have no prefix. Of one that is not known: malloc and its like.
std::map<std::string, KnownFunction> known_functions(const OwnNames &own);

} // namespace reap::native
