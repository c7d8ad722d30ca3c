// The next definitions of functions that an object of ours interposes.
//
// They are resolved when the object is loaded, and not at the first call: dlsym waits for the loader's lock,
// which a thread holds that opens a library while its constructors run. If such a constructor waits for a
// thread that makes the call, the two would wait for each other.
#pragma once

#include "platform.h"

namespace reap::preload {

struct alignas(16) NextSymbol {
    const char *name;
    void *function = nullptr; // (atomic)

    // Looks the symbol up now, for a call that comes before our constructors.
    REAP_COLD void *find() noexcept;
};

template <class Function>
struct Next : NextSymbol {
    // The function; null if there is none.
    [[nodiscard]] Function *get() noexcept {
        void *found = __atomic_load_n(&function, __ATOMIC_RELAXED);
        return reinterpret_cast<Function *>(likely(found != nullptr) ? found : find());
    }

    template <class... Arguments>
    auto operator()(Arguments... arguments) {
        return get()(arguments...);
    }
};

// Declares `variable`, the next definition of the function `symbol`, whose type is `...`.
#define REAP_NEXT(variable, symbol, ...)                                                                     \
    [[gnu::section("reap_next"), gnu::used]] constinit ::reap::preload::Next<__VA_ARGS__> variable {         \
        {                                                                                                    \
            symbol                                                                                           \
        }                                                                                                    \
    }

} // namespace reap::preload
