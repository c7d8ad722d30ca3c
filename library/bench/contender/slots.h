#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "../registry.h"

// A loaded library's functions are known only at run time, but a contender is a type. So there are a few
// types that differ in a number, and libraries take them one after another.

namespace bench {

/// Registers Adapter<slot> under that name for the first slot, of Adapter<0>::slots, that no library has yet.
template <template <std::size_t> class Adapter, class Functions>
void take_slot(const std::string &name, const Functions &functions) {
    static std::size_t taken = 0;
    [&]<std::size_t... Slot>(std::index_sequence<Slot...>) {
        (void)((Slot == taken && (Adapter<Slot>::functions = functions, add<Adapter<Slot>>(name))) || ...);
    }(std::make_index_sequence<Adapter<0>::slots>());
    if (taken++ < Adapter<0>::slots) return;
    std::fprintf(stderr, "bench: %s is one too many; load fewer libraries\n", name.c_str());
    std::exit(2);
}

/// A function of a loaded library; null where it is missing.
template <class Function>
void find(const Loaded &from, const char *name, Function *&function) {
    function = reinterpret_cast<Function *>(from.find(name));
}

} // namespace bench
