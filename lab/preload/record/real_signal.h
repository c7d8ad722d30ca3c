// The C library's signal functions, bypassing those that the recorder interposes.
#pragma once

#include <csignal>
#include <dlfcn.h>

namespace reap::preload {

template <class Function>
Function *next_signal_function(Function *&known, const char *name) noexcept {
    Function *function = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (function == nullptr) {
        function = reinterpret_cast<Function *>(dlsym(RTLD_NEXT, name));
        __atomic_store_n(&known, function, __ATOMIC_RELAXED);
    }
    return function;
}

inline int real_sigaction(int number, const struct sigaction *action, struct sigaction *old) noexcept {
    static int (*known)(int, const struct sigaction *, struct sigaction *);
    return next_signal_function(known, "sigaction")(number, action, old);
}

} // namespace reap::preload
