#pragma once

#include <cstddef>
#include <limits>

#include "reap/core/mode.h"

namespace reap::inline REAP_MODE {

/// How many bytes a layer keeps when all its objects are freed together, instead of returning them to its
/// source.
inline constexpr std::size_t keep_all = std::numeric_limits<std::size_t>::max();
inline constexpr std::size_t keep_none = 0;

} // namespace reap::inline REAP_MODE
