#pragma once

#include <cerrno>
#include <concepts>
#include <cstddef>
#include <sys/mman.h>

#include "reap/core/size.h"
#include "reap/core/source.h"
#include "reap/source/system_pages.h"

namespace reap::inline REAP_MODE {

/// Pages that are backed by memory before they are returned, so that no later access faults.
///
/// It moves the cost of the faults into the request, where it is smaller, and pages that are never used are
/// paid for. The pages are not locked: they may be swapped out later.
///
/// If there is not enough memory for all of them, the request fails. (mmap's MAP_POPULATE would succeed and
/// leave the rest to faults.) On kernels before 5.14, which lack the call, each page is written to instead.
///
/// Stands on any source whose memory is whole pages, as `PopulatedPages<HugePages>`. Has no state but its
/// source's.
template <Source Pages = SystemPages>
class PopulatedPages {
  public:
    static constexpr bool copies_are_equal = reap::copies_are_equal<Pages>;

    PopulatedPages()
        requires std::default_initializable<Pages>
    = default;
    PopulatedPages(Pages pages) noexcept
        requires std::copy_constructible<Pages>
        : pages_(pages) {}

    [[nodiscard]] Allocation try_allocate_at_least(std::size_t size, std::size_t alignment) noexcept {
        if (!is_possible(size, alignment, page_size())) return {};
        alignment = detail::max(alignment, page_size());
        const Allocation got = obtain_at_least<Failure::returns_null>(pages_, size, alignment);
        if (got.data == nullptr || populate(got.data, got.size)) return got;
        pages_.deallocate(got.data, got.size, alignment);
        return {};
    }

    [[nodiscard]] void *try_allocate(std::size_t size, std::size_t alignment) noexcept {
        return try_allocate_at_least(size, alignment).data;
    }

    void deallocate(void *data, std::size_t size, std::size_t alignment) noexcept {
        pages_.deallocate(data, size, detail::max(alignment, page_size()));
    }

    [[nodiscard]] const Pages &source() const noexcept { return pages_; }
    friend bool operator==(const PopulatedPages &, const PopulatedPages &) noexcept
        requires std::equality_comparable<Pages>
    = default;

  private:
    static bool populate(void *data, std::size_t size) noexcept {
        constexpr int populate_write = 23; // MADV_POPULATE_WRITE, which older headers lack
        size += size == 0;
        int outcome = 0;
        do {
            outcome = ::madvise(data, size, populate_write);
        } while (outcome != 0 && (errno == EAGAIN || errno == EINTR));
        if (outcome == 0) return true;
        if (errno != EINVAL) return false;
        auto *const bytes = static_cast<volatile unsigned char *>(data);
        for (std::size_t at = 0; at < size; at += page_size()) bytes[at] = 0;
        return true;
    }

    [[no_unique_address]] HeldCopy<Pages> pages_;
};

template <Source S>
PopulatedPages(S &) -> PopulatedPages<Shared<S>>;

} // namespace reap::inline REAP_MODE
