#pragma once

#include <cstddef>

#include "reap/core/mode.h"

namespace reap::inline REAP_MODE {

/// Told by a source of special pages when it hands out ordinary ones instead.
struct PageFallback {
    const char *source; ///< as "HugePages"
    const char *reason; ///< what is missing, and what to do about it
    void *data;         ///< the memory that is handed out all the same
    std::size_t size;   ///< in bytes
    int error;          ///< errno of the refusal, or 0
};

/// Called within the request, in its thread, each time. It must not use the source. Null: nobody is told.
using PageFallbackHandler = void (*)(const PageFallback &fallback) noexcept;

} // namespace reap::inline REAP_MODE
