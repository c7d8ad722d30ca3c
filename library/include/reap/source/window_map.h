#pragma once

#include <cstddef>
#include <cstdint>

#include "reap/core/mode.h"

namespace reap::inline REAP_MODE {

/// Which aligned windows of the address space contain objects of ours: a bit for each. It distinguishes
/// addresses that were never allocated from those that were, without touching other memory. Thread-safe.
///
/// Takes 16 MB of zeroed address space for windows of 2 MB, of which a page is touched for 64 GB.
template <std::size_t Window>
class WindowMap {
  public:
    [[nodiscard]] bool has(const void *address) const noexcept {
        const std::uintptr_t window = reinterpret_cast<std::uintptr_t>(address) / Window;
        return window < windows &&
               ((__atomic_load_n(&words_[window / bits], __ATOMIC_RELAXED) >> window % bits) & 1U) != 0;
    }
    void add(const void *address) noexcept {
        const std::uintptr_t window = reinterpret_cast<std::uintptr_t>(address) / Window;
        __atomic_fetch_or(&words_[window / bits], Word{1} << window % bits, __ATOMIC_RELAXED);
    }
    void remove(const void *address) noexcept {
        const std::uintptr_t window = reinterpret_cast<std::uintptr_t>(address) / Window;
        __atomic_fetch_and(&words_[window / bits], ~(Word{1} << window % bits), __ATOMIC_RELAXED);
    }

  private:
    using Word = std::uint64_t;
    static constexpr std::size_t bits = 64;
    // The user address space that the kernel allocates from by default.
    static constexpr std::size_t windows = (std::size_t{1} << 48) / Window;

    // Not std::atomic: clang would construct each at compile time, and exceeds its limit.
    Word words_[windows / bits] = {};
};

/// Hardened mode: the windows that begin with the records of a layer, and so can be read.
template <std::size_t Window>
inline constinit WindowMap<Window> recorded_windows{};

} // namespace reap::inline REAP_MODE
