#pragma once

#include <cstddef>

#include "reap/core/mode.h"

namespace reap::inline REAP_MODE::detail {

/// A free block, at its beginning. The low bits of `tag` are flags; the others are its size. The links are
/// those of the index that finds it again.
struct FreeBlock {
    static constexpr std::size_t flags = 7;

    std::size_t tag;
    FreeBlock *lesser = nullptr;
    FreeBlock *greater = nullptr;

    [[nodiscard]] std::size_t size() const noexcept { return tag & ~flags; }
};

} // namespace reap::inline REAP_MODE::detail
