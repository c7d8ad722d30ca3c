#pragma once

#include <cstddef>
#include <sys/mman.h>
#include <unistd.h>

#include "reap/core/annotate.h"
#include "reap/core/size.h"
#include "reap/core/source.h"

namespace reap::inline REAP_MODE {

/// The size of a page, in bytes.
[[nodiscard]] inline std::size_t page_size() noexcept {
    static const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    return size;
}

/// Pages from the system, a mapping for each request, zeroed and not yet backed by memory.
///
/// Not for small requests: each costs a system call, and at least a page. Put a layer or a ChunkCache above
/// it. Sizes are rounded up to whole pages, which at_least returns. Thread-safe; stateless.
class SystemPages {
  public:
    [[nodiscard]] static Allocation try_allocate_at_least(std::size_t size, std::size_t alignment) noexcept {
        const std::size_t page = page_size();
        if (!is_possible(size, alignment, page)) return {};
        const std::size_t wanted = round_up(size == 0 ? 1 : size, page);
        if (alignment <= page) return {map(wanted), wanted};

        // The system aligns to pages: map more, and unmap the excess on both sides.
        const std::size_t spare = alignment - page;
        auto *const start = static_cast<std::byte *>(map(wanted + spare));
        if (start == nullptr) return {};
        const std::size_t before = padding_at(start, alignment);
        if (before > 0) ::munmap(start, before);
        if (before < spare) ::munmap(start + before + wanted, spare - before);
        return {start + before, wanted};
    }

    [[nodiscard]] static void *try_allocate(std::size_t size, std::size_t alignment) noexcept {
        return try_allocate_at_least(size, alignment).data;
    }

    static void deallocate(void *data, std::size_t size, std::size_t /*alignment*/) noexcept {
        const std::size_t whole = round_up(size == 0 ? 1 : size, page_size());
        annotate::defined(data, whole);
        ::munmap(data, whole);
    }

    /// By moving pages, not their contents. Memory that became smaller stays where it is.
    [[nodiscard]] static void *try_resize(void *data, std::size_t size, std::size_t new_size,
                                          std::size_t alignment) noexcept {
        const std::size_t page = page_size();
        if (!is_possible(new_size, alignment, page)) return nullptr;
        const std::size_t old = round_up(size == 0 ? 1 : size, page);
        const std::size_t wanted = round_up(new_size == 0 ? 1 : new_size, page);
        if (wanted == old) return data;
        if (wanted < old) annotate::defined(static_cast<std::byte *>(data) + wanted, old - wanted);
        if (void *const here = ::mremap(data, old, wanted, 0); here != MAP_FAILED) return here;
        if (wanted < old) return nullptr;
        // Not in place: to an aligned address.
        void *const place = try_allocate(new_size, alignment);
        if (place == nullptr) return nullptr;
        void *const there = ::mremap(data, old, wanted, MREMAP_MAYMOVE | MREMAP_FIXED, place);
        if (there != MAP_FAILED) return there;
        deallocate(place, new_size, alignment);
        return nullptr;
    }

    friend bool operator==(SystemPages, SystemPages) noexcept = default;

  private:
    static void *map(std::size_t size) noexcept {
        void *const data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return data == MAP_FAILED ? nullptr : data;
    }
};

} // namespace reap::inline REAP_MODE
