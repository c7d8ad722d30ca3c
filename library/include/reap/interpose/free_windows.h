#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <sys/mman.h>

#include "reap/core/size.h"
#include "reap/source/superblocks.h"

namespace reap::inline REAP_MODE::interpose {

/// Aligned windows of address space that are mapped, but empty and without resident memory. With them, blocks
/// come and go without leaving a hole in the address space each. A process may have some 65,530 mappings
/// (vm.max_map_count); without holes, the kernel merges neighbouring mappings.
///
/// Takes eight bytes per window. Not thread-safe.
class FreeWindows {
  public:
    static constexpr std::size_t window = usual_window;

    constexpr FreeWindows() noexcept = default;
    FreeWindows(const FreeWindows &) = delete;
    FreeWindows &operator=(const FreeWindows &) = delete;
    ~FreeWindows() = default; // lives as long as the process

    [[nodiscard]] std::size_t count() const noexcept { return count_; }

    /// A window, all zero; null if there is none.
    [[nodiscard]] void *take() noexcept {
        return count_ == 0 ? nullptr : reinterpret_cast<void *>(windows_[--count_]);
    }
    /// Keeps the windows of a block, and returns their memory to the system. If that fails they are unmapped.
    void put(void *data, std::size_t size) noexcept {
        if (::madvise(data, size, MADV_DONTNEED) != 0) { // locked memory
            ::munmap(data, size);
            return;
        }
        for (std::size_t at = 0; at < size; at += window) {
            auto *const place = static_cast<std::byte *>(data) + at;
            if (count_ == capacity_ && !grow()) {
                ::munmap(place, window);
                continue;
            }
            windows_[count_++] = reinterpret_cast<std::uintptr_t>(place);
        }
    }
    /// Unmaps the windows, adjacent ones together. Those that the kernel refuses to unmap because of its
    /// limit stay.
    void release() noexcept {
        // With a custom comparison, libc++ compiles it here, and needs no library.
        std::sort(windows_, windows_ + count_,
                  [](std::uintptr_t one, std::uintptr_t other) { return one < other; });
        std::size_t kept = 0;
        for (std::size_t first = 0, last = 0; first < count_; first = last) {
            for (last = first + 1; last < count_ && windows_[last] == windows_[last - 1] + window;) ++last;
            if (::munmap(reinterpret_cast<void *>(windows_[first]), (last - first) * window) == 0) continue;
            std::copy(windows_ + first, windows_ + last, windows_ + kept);
            kept += last - first;
        }
        count_ = kept;
    }

  private:
    bool grow() noexcept {
        constexpr std::size_t first_size = std::size_t{64} << 10;
        const std::size_t old = capacity_ * sizeof *windows_;
        void *const data =
            old == 0 ? ::mmap(nullptr, first_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                     : ::mremap(windows_, old, 2 * old, MREMAP_MAYMOVE);
        if (data == MAP_FAILED) return false;
        windows_ = static_cast<std::uintptr_t *>(data);
        capacity_ = (old == 0 ? first_size : 2 * old) / sizeof *windows_;
        return true;
    }

    std::uintptr_t *windows_ = nullptr;
    std::size_t count_ = 0;
    std::size_t capacity_ = 0;
};

} // namespace reap::inline REAP_MODE::interpose
