// Which file provides a function, as the program itself resolves it.
#pragma once

namespace reap::preload {

struct Provider {
    const char *file = "";      // the loader's name, valid as long as the process; empty: not found
    const void *base = nullptr; // where that file is mapped
    bool executable = false;    // it is the executable, whose name the loader may not have
};

// The object that provides `function` to the program. Allocates only if there is none.
Provider provider_of(const char *function) noexcept;

// The same with this object included; empty if the loader returns a stub in the executable.
Provider first_provider_of(const char *function) noexcept;

// The next provider after the object that this is linked into, in the loader's search order.
Provider next_provider_of(const char *function) noexcept;

} // namespace reap::preload
