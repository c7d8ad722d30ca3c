#pragma once

#include <cstddef>
#include <exception>
#include <new>
#include <utility>
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

/// Whether this translation unit is compiled with exceptions.
#if defined(__cpp_exceptions)
inline constexpr bool with_exceptions = true;
#else
inline constexpr bool with_exceptions = false;
#endif

/// What call() returns, a pointer, or null if it throws. Code compiled without exceptions cannot catch: there
/// the program ends. `Catches` is left alone: it is part of the type because the two must not become one
/// function at link.
template <bool Catches = with_exceptions, class Call>
[[nodiscard]] auto null_if_thrown(Call call) noexcept -> decltype(call()) {
#if defined(__cpp_exceptions)
    if constexpr (Catches) {
        try {
            return call();
        } catch (...) {
            return nullptr;
        }
    } else
#endif
    {
        return call();
    }
}

/// An exception that code out of line returns instead of throwing it, so that its caller may take over what
/// it did to a copy of the caller's state, and then throw it. One pointer.
class HeldException {
  public:
    /// The one that is being handled. Every one that is held has to be thrown, once.
    [[nodiscard]] static std::byte *hold() noexcept {
        Raw raw;
        ::new (&raw.held) std::exception_ptr(std::current_exception());
        return raw.pointer;
    }
    [[noreturn, gnu::noinline, gnu::cold]] static void rethrow(std::byte *pointer) {
        Raw raw;
        raw.pointer = pointer;
        const std::exception_ptr held(std::move(raw.held));
        std::rethrow_exception(held);
    }

  private:
    union Raw {
        Raw() noexcept : pointer(nullptr) {}
        ~Raw() {}
        std::byte *pointer;
        std::exception_ptr held;
    };
    static_assert(sizeof(Raw) == sizeof(void *), "as libstdc++ and libc++ have it");
};

/// Ends a request that cannot be met.
template <Failure F>
inline void *fail() noexcept(F == Failure::returns_null) {
    if constexpr (F == Failure::throws) throw_bad_alloc();
    return nullptr;
}

} // namespace reap::inline REAP_MODE
