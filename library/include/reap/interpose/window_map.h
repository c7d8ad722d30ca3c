#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "reap/core/mode.h"

namespace reap::inline REAP_MODE::interpose {

/// Which aligned windows of the address space have objects of ours: a bit for each, so that an address that
/// was never handed out is told from one that was, by a look at nothing but this. Thread-safe.
///
/// Takes 16 MB of zeroed address space for windows of 2 MB, of which a page is touched for 64 GB.
template <std::size_t Window>
class WindowMap {
  public:
    [[nodiscard]] bool has(const void *address) const noexcept {
        const std::uintptr_t window = reinterpret_cast<std::uintptr_t>(address) / Window;
        return window < windows &&
               ((words_[window / bits].load(std::memory_order_relaxed) >> window % bits) & 1U) != 0;
    }
    void add(const void *address) noexcept {
        const std::uintptr_t window = reinterpret_cast<std::uintptr_t>(address) / Window;
        words_[window / bits].fetch_or(Word{1} << window % bits, std::memory_order_relaxed);
    }
    void remove(const void *address) noexcept {
        const std::uintptr_t window = reinterpret_cast<std::uintptr_t>(address) / Window;
        words_[window / bits].fetch_and(~(Word{1} << window % bits), std::memory_order_relaxed);
    }

  private:
    using Word = std::uint64_t;
    static constexpr std::size_t bits = 64;
    // What the kernel hands out unless it is asked for more.
    static constexpr std::size_t windows = (std::size_t{1} << 48) / Window;

    std::atomic<Word> words_[windows / bits] = {};
};

} // namespace reap::inline REAP_MODE::interpose
