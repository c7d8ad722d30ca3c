#pragma once

#include <cstddef>
#include <functional>

/// What a translation unit that was built with its own settings says of itself.
struct Setting {
    const char *name;
    /// Whether its layers are checked.
    bool checked;
    /// Whether they are hardened.
    bool hardened;
    /// Works with layers of its own, calls `inner` while they are in use, and says whether all was as it must
    /// be. With checked layers it commits one misuse.
    bool (*work)(const std::function<void()> &inner);
};

/// Given to no translation unit twice.
extern const Setting plain, optimized, debug, checked, memcheck, without_exceptions,
    checked_without_exceptions, marked, undefined, address, hardened, quarantine, hardened_without_exceptions,
    hardened_address;
