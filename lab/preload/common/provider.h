// Which file a function comes from, as the program itself would find it.
#pragma once

namespace reap::preload {

struct Provider {
    const char *file = "";      // as the loader has it; lives as long as the process. Empty: nobody has it.
    const void *base = nullptr; // where that file is mapped
    bool executable = false;    // it is the program's own file, whose name the loader need not have
};

// Who provides `function` to the program. Allocates nothing as long as somebody does.
Provider provider_of(const char *function) noexcept;

// Who provides it, this object included; empty where the loader's answer is a program's stub for whoever that
// is.
Provider first_provider_of(const char *function) noexcept;

// Who would provide it to the object that this is linked into: the next behind it in the order of search.
Provider next_provider_of(const char *function) noexcept;

} // namespace reap::preload
