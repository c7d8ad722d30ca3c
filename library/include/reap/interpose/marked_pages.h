#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include "reap/core/size.h"
#include "reap/core/source.h"
#include "reap/source/superblocks.h"
#include "reap/source/system_pages.h"
#include "reap/source/window_map.h"

namespace reap::inline REAP_MODE::interpose {

/// System pages that record their addresses.
class MarkedPages {
  public:
    [[nodiscard]] static void *try_allocate(std::size_t size, std::size_t alignment) noexcept {
        void *data = nullptr;
        // The kernel allocates addresses downward, so the mapping after a superblock is aligned as well: one
        // call instead of three.
        if (size == usual_window && alignment == usual_window) {
            data = SystemPages::try_allocate(size, 1);
            if (data != nullptr && padding_at(data, alignment) != 0) {
                SystemPages::deallocate(data, size, 1);
                data = nullptr;
            }
        }
        if (data == nullptr) data = SystemPages::try_allocate(size, alignment);
        if (data != nullptr) mark(data, alignment);
        return data;
    }
    static void deallocate(void *data, std::size_t size, std::size_t alignment) noexcept {
        const int before = errno; // free() preserves it
        forget(data, alignment);
        SystemPages::deallocate(data, size, alignment);
        errno = before;
    }
    [[nodiscard]] static void *try_resize(void *data, std::size_t size, std::size_t new_size,
                                          std::size_t alignment) noexcept {
        const int before = errno;
        // As soon as it has moved, another thread may get memory at the old address.
        forget(data, alignment);
        void *const moved = SystemPages::try_resize(data, size, new_size, alignment);
        mark(moved != nullptr ? moved : data, alignment);
        errno = before;
        return moved;
    }
    /// Returns everything behind the first bytes to the system, in whole pages.
    static void cut(Allocation block, std::size_t size) noexcept {
        const int before = errno;
        SystemPages::deallocate(static_cast<std::byte *>(block.data) + size, block.size - size, 1);
        errno = before;
    }
    /// Records that an object of ours may be there, or that none is.
    static void mark(void *data, std::size_t alignment) noexcept {
        windows.add(window_of_object(data, alignment));
    }
    static void forget(void *data, std::size_t alignment) noexcept {
        windows.remove(window_of_object(data, alignment));
    }
    /// Whether an object of ours may be there.
    [[nodiscard]] static bool has(const void *object) noexcept {
        return windows.has(static_cast<const std::byte *>(object) - 1);
    }
    /// The same for an address that is not aligned like a superblock.
    [[nodiscard]] static bool has_unaligned(const void *object) noexcept { return windows.has(object); }

  private:
    /// The byte in front of an object: see OwnedChunks.
    static std::byte *window_of_object(void *data, std::size_t alignment) noexcept {
        return static_cast<std::byte *>(data) + (std::max(alignment, usual_window) - usual_window);
    }

    static inline constinit WindowMap<usual_window> windows{};
};

} // namespace reap::inline REAP_MODE::interpose
