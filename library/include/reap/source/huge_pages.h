#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "reap/core/size.h"
#include "reap/core/source.h"
#include "reap/source/page_fallback.h"
#include "reap/source/system_pages.h"

namespace reap::inline REAP_MODE {

/// Whether the kernel makes huge pages on madvise.
enum class HugePageStatus {
    available,    ///< it does, as long as there is memory in pieces of 2 MB
    switched_off, ///< by the administrator, or for this process by prctl
    unsupported,  ///< the kernel has none
};

/// Pages of 2 MB, which avoid most TLB misses and most page faults.
///
/// Not for small amounts of memory: sizes are rounded up to 2 MB, and an untouched page becomes 2 MB of
/// memory at its first touch. And not a guarantee: it requests transparent huge pages (madvise), which the
/// kernel makes at the first touch if it can. Three functions report the outcome: the handler is called
/// whenever the kernel refuses at once, and ordinary pages are returned; status() tells whether it would;
/// huge_bytes() counts the huge pages that memory actually has, after it was touched.
///
/// `PopulatedPages<HugePages>` touches it within the request. Copies refer to the same handler. Thread-safe.
class HugePages {
  public:
    static constexpr bool copies_are_equal = true;

    /// The size of a huge page, in bytes.
    static constexpr std::size_t page = std::size_t{2} << 20;

    HugePages() = default;
    explicit HugePages(PageFallbackHandler told) noexcept : told_(told) {}

    [[nodiscard]] Allocation try_allocate_at_least(std::size_t size, std::size_t alignment) const noexcept {
        if (!is_possible(size, alignment, page)) return {};
        const std::size_t whole = round_up(size + (size == 0), page);
        const Allocation got = SystemPages::try_allocate_at_least(whole, detail::max(alignment, page));
        if (got.data != nullptr) wish(got);
        return got;
    }

    [[nodiscard]] void *try_allocate(std::size_t size, std::size_t alignment) const noexcept {
        return try_allocate_at_least(size, alignment).data;
    }

    static void deallocate(void *data, std::size_t size, std::size_t alignment) noexcept {
        SystemPages::deallocate(data, round_up(size + (size == 0), page), alignment);
    }

    /// According to the system's current settings. Costs reading two small files.
    [[nodiscard]] static HugePageStatus status() noexcept;

    /// The number of bytes of this memory that are in huge pages now. Costs reading /proc/self/smaps, which
    /// grows with the process's mappings. The kernel counts whole mappings, and may have merged neighbours
    /// into one: the result is an upper bound, and exact if the neighbours have huge pages too, or are
    /// ordinary.
    [[nodiscard]] static std::size_t huge_bytes(const void *data, std::size_t size) noexcept;

    friend bool operator==(const HugePages &, const HugePages &) noexcept = default;

  private:
    void wish(const Allocation &got) const noexcept {
        const bool refused = ::madvise(got.data, got.size, MADV_HUGEPAGE) != 0;
        if (told_ == nullptr) return;
        const int error = refused ? errno : 0;
        const char *reason = nullptr;
        if (refused || status() == HugePageStatus::unsupported) {
            reason = "this kernel has no transparent huge pages; use one that has, or SystemPages";
        } else if (status() == HugePageStatus::switched_off) {
            reason = "transparent huge pages are switched off; write madvise to "
                     "/sys/kernel/mm/transparent_hugepage/enabled, and see prctl's PR_SET_THP_DISABLE";
        }
        if (reason != nullptr) told_({"HugePages", reason, got.data, got.size, error});
    }

    PageFallbackHandler told_ = nullptr;
};

namespace detail {

/// A kernel file, read by lines, without malloc: this may be below it.
class KernelFile {
  public:
    explicit KernelFile(const char *path) noexcept : file_(::open(path, O_RDONLY | O_CLOEXEC)) {}
    KernelFile(const KernelFile &) = delete;
    KernelFile &operator=(const KernelFile &) = delete;
    ~KernelFile() {
        if (file_ >= 0) ::close(file_);
    }

    /// The next line, or null at the end. Longer lines are truncated.
    const char *line() noexcept {
        std::size_t length = 0;
        for (;;) {
            if (at_ == filled_) {
                const ssize_t got = file_ < 0 ? 0 : ::read(file_, buffer_, sizeof buffer_);
                if (got <= 0) break;
                at_ = 0;
                filled_ = static_cast<std::size_t>(got);
            }
            const char letter = buffer_[at_++];
            if (letter == '\n') {
                line_[length] = 0;
                return line_;
            }
            if (length + 1 < sizeof line_) line_[length++] = letter;
        }
        line_[length] = 0;
        return length == 0 ? nullptr : line_;
    }

  private:
    int file_;
    std::size_t at_ = 0;
    std::size_t filled_ = 0;
    char buffer_[4096];
    char line_[256];
};

/// Interprets the kernel's settings, lines such as "always [madvise] never". Newer kernels have a setting per
/// size in addition to the global one, to which it may refer. Null: there is no such setting.
inline HugePageStatus meaning_of(const char *for_all, const char *for_this_size) noexcept {
    if (for_all == nullptr) return HugePageStatus::unsupported;
    const bool own = for_this_size != nullptr && std::strstr(for_this_size, "[inherit]") == nullptr;
    const char *const valid = own ? for_this_size : for_all;
    return std::strstr(valid, "[never]") == nullptr ? HugePageStatus::available
                                                    : HugePageStatus::switched_off;
}

} // namespace detail

inline HugePageStatus HugePages::status() noexcept {
    detail::KernelFile all("/sys/kernel/mm/transparent_hugepage/enabled");
    detail::KernelFile mine("/sys/kernel/mm/transparent_hugepage/hugepages-2048kB/enabled");
    const HugePageStatus status = detail::meaning_of(all.line(), mine.line());
    const bool by_prctl = ::prctl(PR_GET_THP_DISABLE, 0UL, 0UL, 0UL, 0UL) > 0;
    return status == HugePageStatus::available && by_prctl ? HugePageStatus::switched_off : status;
}

inline std::size_t HugePages::huge_bytes(const void *data, std::size_t size) noexcept {
    constexpr const char *field = "AnonHugePages:";
    const auto first = reinterpret_cast<std::uintptr_t>(data);
    const std::uintptr_t last = first + (size - (size > 0));
    detail::KernelFile mappings("/proc/self/smaps");
    std::size_t found = 0;
    bool here = false;
    while (const char *const line = mappings.line()) {
        // A mapping begins with its addresses, such as 7f0000000000-7f0000200000; its fields begin with a
        // name.
        char *end = nullptr;
        const std::uintptr_t start = std::strtoul(line, &end, 16);
        if (end != line && *end == '-') {
            here = start <= last && std::strtoul(end + 1, nullptr, 16) > first;
        } else if (here && std::strncmp(line, field, std::strlen(field)) == 0) {
            found += std::strtoul(line + std::strlen(field), nullptr, 10) * 1024;
        }
    }
    return detail::min(found, size);
}

} // namespace reap::inline REAP_MODE
