// operator new and delete, all forms. They throw with the C++ runtime that the program has, if it has one:
// this library needs none itself.
#include <cstddef>
#include <cstdlib>
#include <dlfcn.h>
#include <new>
#include <unistd.h>

#include "reap/core/size.h"
#include "reap/interpose/heap.h"

using reap::interpose::Heap;

namespace {

// A function of the C++ runtime that is in the process, or null. It may be one that came with a plugin, and
// so be seen by that alone.
template <class Function>
Function *in_runtime(const char *symbol) noexcept {
    void *found = ::dlsym(RTLD_DEFAULT, symbol);
    for (const char *library : {"libstdc++.so.6", "libc++.so.1", "libc++abi.so.1"}) {
        if (found != nullptr) break;
        if (void *const runtime = ::dlopen(library, RTLD_LAZY | RTLD_NOLOAD); runtime != nullptr) {
            found = ::dlsym(runtime, symbol);
            ::dlclose(runtime); // which takes back what dlopen() counted
        }
    }
    return reinterpret_cast<Function *>(found);
}

[[noreturn]] void throw_bad_alloc() {
    for (const char *symbol : {"_ZSt17__throw_bad_allocv", "_ZNSt3__117__throw_bad_allocB8ne190107Ev"})
        if (auto *const thrower = in_runtime<void()>(symbol); thrower != nullptr) thrower();
    static constexpr char line[] =
        "libreap-malloc: operator new: no memory, and no C++ runtime to throw with\n";
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line, sizeof line - 1);
    std::abort();
}

void *allocate(std::size_t size, std::size_t alignment) noexcept {
    if (alignment <= Heap::granule) return Heap::allocate(size);
    return reap::is_alignment(alignment) ? Heap::allocate(size, alignment) : nullptr;
}

// What the standard says: the new-handler is called until there is memory, or none is set, or it throws.
[[gnu::noinline, gnu::cold]] void *insist(std::size_t size, std::size_t alignment) {
    auto *const get_handler = in_runtime<std::new_handler()>("_ZSt15get_new_handlerv");
    for (;;) {
        const std::new_handler handler = get_handler == nullptr ? nullptr : get_handler();
        if (handler == nullptr) throw_bad_alloc();
        handler();
        if (void *const object = allocate(size, alignment); object != nullptr) return object;
    }
}

// The same where nothing may be thrown. A handler that throws ends the program: to catch it, this library
// would need a runtime.
[[gnu::noinline, gnu::cold]] void *insist_without_throw(std::size_t size, std::size_t alignment) noexcept {
    auto *const get_handler = in_runtime<std::new_handler()>("_ZSt15get_new_handlerv");
    for (;;) {
        const std::new_handler handler = get_handler == nullptr ? nullptr : get_handler();
        if (handler == nullptr) return nullptr;
        handler();
        if (void *const object = allocate(size, alignment); object != nullptr) return object;
    }
}

[[gnu::noinline]] void *make_slowly(std::size_t size) {
    void *const object = Heap::allocate(size, Heap::granule);
    return object != nullptr ? object : insist(size, Heap::granule);
}
[[gnu::always_inline]] inline void *make(std::size_t size) {
    void *const object = Heap::allocate_at_hand(size);
    if (object != nullptr) [[likely]]
        return object;
    return make_slowly(size);
}
void *make(std::size_t size, std::align_val_t alignment) {
    void *const object = allocate(size, static_cast<std::size_t>(alignment));
    return object != nullptr ? object : insist(size, static_cast<std::size_t>(alignment));
}
void *try_make(std::size_t size, std::align_val_t alignment = std::align_val_t{Heap::granule}) noexcept {
    void *const object = allocate(size, static_cast<std::size_t>(alignment));
    return object != nullptr ? object : insist_without_throw(size, static_cast<std::size_t>(alignment));
}
[[gnu::always_inline]] inline void drop(void *object) noexcept { Heap::free(object, "operator delete"); }

} // namespace

using Size = std::size_t;
using Alignment = std::align_val_t;
using NoThrow = const std::nothrow_t &;

void *operator new(Size size) { return make(size); }
void *operator new[](Size size) { return make(size); }
void *operator new(Size size, NoThrow /*tag*/) noexcept { return try_make(size); }
void *operator new[](Size size, NoThrow /*tag*/) noexcept { return try_make(size); }
void *operator new(Size size, Alignment alignment) { return make(size, alignment); }
void *operator new[](Size size, Alignment alignment) { return make(size, alignment); }
void *operator new(Size size, Alignment alignment, NoThrow /*tag*/) noexcept {
    return try_make(size, alignment);
}
void *operator new[](Size size, Alignment alignment, NoThrow /*tag*/) noexcept {
    return try_make(size, alignment);
}

// The size is not believed: a program that says a wrong one works with every other allocator.
void operator delete(void *object) noexcept { drop(object); }
void operator delete[](void *object) noexcept { drop(object); }
void operator delete(void *object, NoThrow /*tag*/) noexcept { drop(object); }
void operator delete[](void *object, NoThrow /*tag*/) noexcept { drop(object); }
void operator delete(void *object, Size /*size*/) noexcept { drop(object); }
void operator delete[](void *object, Size /*size*/) noexcept { drop(object); }
void operator delete(void *object, Alignment /*alignment*/) noexcept { drop(object); }
void operator delete[](void *object, Alignment /*alignment*/) noexcept { drop(object); }
void operator delete(void *object, Size /*size*/, Alignment /*alignment*/) noexcept { drop(object); }
void operator delete[](void *object, Size /*size*/, Alignment /*alignment*/) noexcept { drop(object); }
void operator delete(void *object, Alignment /*alignment*/, NoThrow /*tag*/) noexcept { drop(object); }
void operator delete[](void *object, Alignment /*alignment*/, NoThrow /*tag*/) noexcept { drop(object); }
