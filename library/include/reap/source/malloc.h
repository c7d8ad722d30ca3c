#pragma once

#include <cstddef>
#include <cstdlib>

#include "reap/core/size.h"
#include "reap/core/source.h"

namespace reap::inline REAP_MODE {

/// The program's general-purpose allocator, whichever malloc and free resolve to.
///
/// Must not be used where malloc itself is made of these layers. Thread-safe; stateless. Costs what malloc
/// costs.
class Malloc {
  public:
    [[nodiscard]] static void *try_allocate(std::size_t size, std::size_t alignment) noexcept {
        if (!is_possible(size, alignment)) return nullptr;
        size += size == 0;
        if (alignment <= alignof(std::max_align_t)) return std::malloc(size);
        return std::aligned_alloc(alignment, round_up(size, alignment));
    }
    static void deallocate(void *data) noexcept { std::free(data); }
    static void deallocate(void *data, std::size_t /*size*/, std::size_t /*alignment*/) noexcept {
        std::free(data);
    }
    friend bool operator==(Malloc, Malloc) noexcept = default;
};

} // namespace reap::inline REAP_MODE
