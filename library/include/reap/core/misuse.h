#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

// What checked mode reports, and to whom. Nothing here depends on the mode, so one handler serves a program
// whose parts were built in several modes.

namespace reap {

/// The kind of misuse.
enum class Misuse {
    overflow,           ///< bytes behind an object were overwritten
    underflow,          ///< bytes in front of an object were overwritten
    use_after_free,     ///< a freed object was written to
    use_after_rewind,   ///< an object was written to after the region was rewound past it
    use_after_reset,    ///< an object was written to after its layer was reset
    double_free,        ///< an object was freed twice
    foreign_free,       ///< an address was freed that this layer never allocated
    wrong_size,         ///< an object was freed with a size other than its own
    stale_mark,         ///< a region was rewound to a mark that no longer exists
    interior_free,      ///< an address inside an object was freed
    corruption,         ///< a layer's metadata was overwritten
    skipped_destructor, ///< an object of create() or create_array() was freed without being destroyed
};
/// The last enumerator, for tables that have all kinds, as the C API does.
inline constexpr Misuse last_misuse = Misuse::skipped_destructor;

/// A misuse that was found.
struct MisuseReport {
    Misuse what;
    const void *address; ///< of the object; for writes outside objects, of the first changed byte
    std::size_t size;    ///< of the object, in bytes; 0 if unknown
    const char *layer;   ///< the layer that found it, e.g. "Region"
    /// In hardened mode: the layer that the object belongs to, if it is another one and known.
    const void *owner = nullptr;
};

/// Called for every misuse. If it returns, the call that found the misuse does nothing more, and the layer
/// stays usable. It may be called from any thread, and must not use the layer that is reported.
using MisuseHandler = void (*)(const MisuseReport &report);

/// The kind in words, e.g. "double free".
[[nodiscard]] constexpr const char *to_string(Misuse what) noexcept {
    switch (what) {
    case Misuse::overflow:
        return "write behind the end of an object";
    case Misuse::underflow:
        return "write in front of an object";
    case Misuse::use_after_free:
        return "write to a freed object";
    case Misuse::use_after_rewind:
        return "write to an object after the region was rewound past it";
    case Misuse::use_after_reset:
        return "write to an object after its layer was reset";
    case Misuse::double_free:
        return "double free";
    case Misuse::foreign_free:
        return "free of an address that is not this layer's";
    case Misuse::wrong_size:
        return "free with a wrong size";
    case Misuse::stale_mark:
        return "rewind to a stale mark";
    case Misuse::interior_free:
        return "free of an address inside an object";
    case Misuse::corruption:
        return "write to what a layer knows of its memory";
    case Misuse::skipped_destructor:
        return "free without the destructor, which destroy() runs";
    }
    return "misuse";
}

/// The default: one line on standard error, then abort().
[[noreturn]] inline void abort_on_misuse(const MisuseReport &report) {
    char owner[64] = "";
    if (report.owner != nullptr)
        std::snprintf(owner, sizeof owner, ", which belongs to the layer at %p", report.owner);
    char line[256];
    std::snprintf(line, sizeof line,
                  "reap: %s: %s at %p, %zu bytes%s; a debugger's backtrace shows the call\n", report.layer,
                  to_string(report.what), report.address, report.size, owner);
    // Without stdio: the misuse may have hit its buffers. Nothing can be done if this fails.
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line, std::strlen(line));
    std::abort();
}

// Not `detail`: where a mode's own namespace of that name comes first, this would become part of it.
namespace process {
// Atomic, by the compiler's functions: <atomic> takes longer to compile than all headers of the library
// together.
inline constinit MisuseHandler misuse_handler = abort_on_misuse;
} // namespace process

/// Installs `handler` for misuse in all threads and returns the previous one. Null stands for the default.
inline MisuseHandler set_misuse_handler(MisuseHandler handler) noexcept {
    return __atomic_exchange_n(&process::misuse_handler, handler != nullptr ? handler : abort_on_misuse,
                               __ATOMIC_SEQ_CST);
}

/// Reports a misuse. For user-defined layers.
inline void report_misuse(const MisuseReport &report) {
    __atomic_load_n(&process::misuse_handler, __ATOMIC_SEQ_CST)(report);
}

} // namespace reap
