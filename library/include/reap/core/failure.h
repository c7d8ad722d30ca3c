#pragma once

#include <new>
#if __has_include(<bits/functexcept.h>)
#include <bits/functexcept.h> // where libstdc++ has the functions below
#else
#include <stdexcept> // where libc++ has them, and in <new>
#endif

#include "reap/core/mode.h"

namespace reap::inline REAP_MODE {

/// What a request does that cannot be met. A slow path is written once, over this.
enum class Failure {
    throws,       ///< std::bad_alloc, or what the source itself throws
    returns_null, ///< null, and nothing is thrown
};

/// Throws std::bad_alloc. The standard library's own function: it is the same one for callers with and
/// without exceptions, and where nobody can catch, the program ends.
[[noreturn]] inline void throw_bad_alloc() { std::__throw_bad_alloc(); }

/// The same for std::bad_array_new_length: more elements than any array has.
[[noreturn]] inline void throw_bad_array_new_length() { std::__throw_bad_array_new_length(); }

/// Throws std::invalid_argument, likewise. `what` says where, what, and what would be right.
[[noreturn]] inline void throw_invalid(const char *what) { std::__throw_invalid_argument(what); }

/// Ends a request that cannot be met.
template <Failure F>
inline void *fail() noexcept(F == Failure::returns_null) {
    if constexpr (F == Failure::throws) throw_bad_alloc();
    return nullptr;
}

} // namespace reap::inline REAP_MODE
