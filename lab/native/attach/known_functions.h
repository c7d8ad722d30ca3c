// Functions of allocators that are counted from outside, by name: what each does, and which argument has its
// size.
//
// The lists have wrappers of other functions in them, too: Target::functions sees by their code which calls
// another one counts.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "reap_trace.h"
#include "symbols/own_names.h"

namespace reap::native {

// Arguments that say how much a function allocates; None: it frees.
enum class Size : uint8_t { First, Second, Third, FirstTimesSecond, SecondTimesThird, None };

struct KnownFunction {
    const char *name; // without its prefix
    reap_call call;
    Size size;
};

// Functions that an allocator may have, by their names with its prefix. With neither allocator nor prefix:
// malloc, its like, and the operators of C++.
std::map<std::string, KnownFunction> known_functions(const OwnNames &own);

} // namespace reap::native
