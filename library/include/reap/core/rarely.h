#pragma once

#include "reap/core/mode.h"

namespace reap::inline REAP_MODE::detail {

/// The condition, which the compiler takes to be never true, where it takes one marked [[unlikely]] to be
/// true once in ten times: then what a hot loop needs is in registers, and what only its slow path needs is
/// not.
[[nodiscard, gnu::always_inline]] inline bool rarely(bool condition) noexcept {
    return __builtin_expect_with_probability(condition, false, 1.0);
}

} // namespace reap::inline REAP_MODE::detail
