#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "reap/core/mode.h"

namespace reap::inline REAP_MODE {

/// The most recently freed blocks, which are not reused yet: first in, first out. So a dangling pointer does
/// not soon point to a new object, and what is written through it is found in the meantime.
///
/// Null means no block. Costs some five instructions per block.
template <std::size_t Length>
class Quarantine {
  public:
    /// Adds a block. Returns the block that leaves for it, or null.
    [[nodiscard]] void *exchange(void *block) noexcept {
        void *const oldest = std::exchange(blocks_[at_], block);
        at_ = at_ + 1 == Length ? 0 : at_ + 1;
        return oldest;
    }
    /// Empties the quarantine: calls use(block) for each, the oldest first.
    template <class Use>
    void drain(Use use) noexcept {
        for (std::size_t count = 0; count < Length; ++count)
            if (void *const block = exchange(nullptr); block != nullptr) use(block);
    }
    /// Calls use(block) for each block.
    template <class Use>
    void each(Use use) const noexcept {
        for (void *const block : blocks_)
            if (block != nullptr) use(block);
    }
    [[nodiscard]] std::size_t size() const noexcept {
        std::size_t count = 0;
        each([&count](void * /*block*/) { ++count; });
        return count;
    }

  private:
    void *blocks_[Length] = {};
    std::size_t at_ = 0; // of the oldest
};

/// Replaces a Quarantine where nothing is held back: takes no room, whatever layer is nested in another.
template <class Layer>
class NoQuarantine {
  public:
    [[nodiscard]] static void *exchange(void *block) noexcept { return block; }
    template <class Use>
    static void drain(Use /*use*/) noexcept {}
    template <class Use>
    static void each(Use /*use*/) noexcept {}
    [[nodiscard]] static std::size_t size() noexcept { return 0; }
};

/// The quarantine member of a hardened layer.
template <class Layer>
using Quarantined = std::conditional_t<hardened && REAP_QUARANTINE != 0, Quarantine<REAP_QUARANTINE + 0>,
                                       NoQuarantine<Layer>>;

} // namespace reap::inline REAP_MODE
