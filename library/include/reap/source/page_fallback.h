#pragma once

#include <cstddef>

#include "reap/core/mode.h"

namespace reap::inline REAP_MODE {

/// What a source of special pages reports when it returns ordinary ones instead.
struct PageFallback {
    const char *source; ///< e.g. "HugePages"
    const char *reason; ///< what is missing, and how to fix it
    void *data;         ///< the memory that is returned all the same
    std::size_t size;   ///< in bytes
    int error;          ///< errno of the refusal, or 0
};

/// Called within the request, in its thread, each time. It must not use the source. Null: no report.
using PageFallbackHandler = void (*)(const PageFallback &fallback) noexcept;

} // namespace reap::inline REAP_MODE
