// operator new and delete, all forms. They throw with the C++ runtime that the program has, if it has one:
// this library needs none itself.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <new>
#include <unistd.h>

#include "reap/core/size.h"
#include "served.h"

namespace {

// A function of the C++ runtime in the process, or null. The globally visible one first, if there is one:
// another may have come with a plugin, and be visible to that only.
template <class Function>
Function *in_runtime(const char *symbol) noexcept {
    Dl_info seen{};
    if (const void *const any = ::dlsym(RTLD_DEFAULT, "_ZSt15get_new_handlerv"); any != nullptr)
        ::dladdr(any, &seen);
    for (const char *library : {seen.dli_fname, "libstdc++.so.6", "libc++.so.1", "libc++abi.so.1"}) {
        if (library == nullptr) continue;
        void *const runtime = ::dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
        if (runtime == nullptr) continue;
        void *const found = ::dlsym(runtime, symbol);
        ::dlclose(runtime); // which takes back what dlopen() counted
        // The globally visible function of this name is ours.
        if (found != nullptr && found != ::dlsym(RTLD_DEFAULT, symbol))
            return reinterpret_cast<Function *>(found);
    }
    return nullptr;
}

void *allocate(std::size_t size, std::size_t alignment) noexcept {
    if (alignment <= Served::granule) return Served::allocate(size);
    return reap::is_alignment(alignment) ? Served::allocate(size, alignment) : nullptr;
}

// If memory is exhausted, the runtime's own operator does what the standard requires: it calls the
// new-handler until memory is available, which it gets from our malloc(), or no handler is set, or it throws.
[[gnu::noinline, gnu::cold]] void *insist(std::size_t size, std::size_t alignment) {
    if (alignment <= Served::granule) {
        auto *const theirs = in_runtime<void *(std::size_t)>("_Znwm");
        if (theirs != nullptr) return theirs(size);
    } else {
        auto *const theirs = in_runtime<void *(std::size_t, std::size_t)>("_ZnwmSt11align_val_t");
        if (theirs != nullptr) return theirs(size, alignment);
    }
    ::dprintf(STDERR_FILENO, "%s: operator new: no memory, and no C++ runtime to throw with\n",
              Served::library);
    std::abort();
}

// The same where nothing may be thrown: the runtime's catches what the handler throws. It calls what all see
// as the operator that may throw, which is ours, which calls the runtime's.
[[gnu::noinline, gnu::cold]] void *insist_without_throw(std::size_t size, std::size_t alignment) noexcept {
    using Tag = const std::nothrow_t &;
    constexpr std::nothrow_t tag{};
    if (alignment <= Served::granule) {
        auto *const theirs = in_runtime<void *(std::size_t, Tag)>("_ZnwmRKSt9nothrow_t");
        return theirs == nullptr ? nullptr : theirs(size, tag);
    }
    auto *const theirs =
        in_runtime<void *(std::size_t, std::size_t, Tag)>("_ZnwmSt11align_val_tRKSt9nothrow_t");
    return theirs == nullptr ? nullptr : theirs(size, alignment, tag);
}

[[gnu::noinline]] void *make_slow(std::size_t size) {
    void *const object = Served::allocate(size, Served::granule);
    return object != nullptr ? object : insist(size, Served::granule);
}
[[gnu::always_inline]] inline void *make(std::size_t size) {
    void *const object = Served::allocate_at_hand(size);
    if (object != nullptr) [[likely]]
        return object;
    return make_slow(size);
}
void *make(std::size_t size, std::align_val_t alignment) {
    void *const object = allocate(size, static_cast<std::size_t>(alignment));
    return object != nullptr ? object : insist(size, static_cast<std::size_t>(alignment));
}
void *try_make(std::size_t size, std::align_val_t alignment = std::align_val_t{Served::granule}) noexcept {
    void *const object = allocate(size, static_cast<std::size_t>(alignment));
    return object != nullptr ? object : insist_without_throw(size, static_cast<std::size_t>(alignment));
}
[[gnu::always_inline]] inline void drop(void *object) noexcept { Served::free(object, "operator delete"); }

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

// The size is not trusted: a program that passes a wrong one works with every other allocator.
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
