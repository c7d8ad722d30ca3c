// Scopes, of a heap that has some.
#include "reap/interpose/scope.h"

#include <cstddef>

#include "served.h"

namespace {

template <class Heap>
concept Scoped = requires { Heap::open_scope(); };

template <class Heap>
std::size_t open() noexcept {
    if constexpr (Scoped<Heap>) return Heap::open_scope();
    return 0;
}
template <class Heap>
void close([[maybe_unused]] std::size_t scope) noexcept {
    if constexpr (Scoped<Heap>) Heap::close_scope(scope);
}
template <class Heap>
int leave([[maybe_unused]] int out) noexcept {
    if constexpr (Scoped<Heap>) return Heap::leave_scope(out != 0) ? 1 : 0;
    return 1;
}

} // namespace

#pragma GCC visibility push(default)
extern "C" {
std::size_t reap_malloc_open_scope() { return open<Served>(); }
void reap_malloc_close_scope(std::size_t scope) { close<Served>(scope); }
int reap_malloc_leave_scope(int out) { return leave<Served>(out); }
}
#pragma GCC visibility pop
