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

/// What happens to a request that cannot be met. A slow path is written once, as a template over this.
enum class Failure {
    throws,       ///< std::bad_alloc, or what the source itself throws
    returns_null, ///< null, and nothing is thrown
};

/// Throws std::bad_alloc. The standard library's own function: it is the same for callers with and without
/// exceptions; where nobody can catch, the program ends.
[[noreturn]] inline void throw_bad_alloc() { std::__throw_bad_alloc(); }

/// Throws std::bad_array_new_length: more elements than any array can have.
[[noreturn]] inline void throw_bad_array_new_length() { std::__throw_bad_array_new_length(); }

/// Throws std::invalid_argument. `what` names the function, the fault, and the valid values.
[[noreturn]] inline void throw_invalid(const char *what) { std::__throw_invalid_argument(what); }

/// Whether this translation unit is compiled with exceptions.
#if defined(__cpp_exceptions)
inline constexpr bool with_exceptions = true;
#else
inline constexpr bool with_exceptions = false;
#endif

/// Returns call(), a pointer, or null if it throws. Code compiled without exceptions cannot catch: there the
/// program ends. Leave `Catches` at its default: it is part of the type because the linker must not merge the
/// two functions.
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

/// An exception that out-of-line code returns instead of throwing, so that its caller can first commit the
/// changes made to a copy of its state, and then throw. The size of one pointer.
class HeldException {
  public:
    /// The exception being handled. Each one captured must be thrown, once.
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

/// Fails a request that cannot be met.
template <Failure F>
inline void *fail() noexcept(F == Failure::returns_null) {
    if constexpr (F == Failure::throws) throw_bad_alloc();
    return nullptr;
}

} // namespace reap::inline REAP_MODE
