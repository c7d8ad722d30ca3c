#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "reap/core/annotate.h"
#include "reap/core/failure.h"
#include "reap/core/guard.h"
#include "reap/core/misuse.h"
#include "reap/core/size.h"
#include "reap/core/source.h"
#include "reap/source/system_pages.h"

namespace reap::inline REAP_MODE {

/// The options of an arena. Sizes in bytes.
struct ArenaOptions {
    /// Whether an exhausted arena takes another mapping from its source.
    bool grows = false;
    /// Maximum size of all mappings together.
    std::size_t limit = std::size_t{256} << 20;
};

/// What an arena holds, in bytes.
struct ArenaStatistics {
    std::size_t held = 0; ///< taken from the source
    std::size_t used = 0; ///< allocated, including what was skipped for alignments and at ends of mappings
    std::size_t mappings = 0; ///< number of mappings
};

/// A page arena: pages of 4 KB, in address order, out of one mapping.
///
/// It frees no single page except the last that it allocated; the others stay until reset() or its end. It is
/// not thread-safe, and can be neither copied nor moved: layers on it refer to it. It puts nothing between
/// the pages, not even in checked mode, so a write behind a page is found only where the next page is free.
///
/// alloc_page() increments a pointer, and returns null when the arena is exhausted. As a Source it allocates
/// runs of pages: sizes are rounded up to whole pages, larger alignments skip pages.
///
/// The contract is that of hpalloc's Arena; growth, runs, reset, forbidden copies and misuse reports
/// are what it lacks.
template <Source Upstream = SystemPages>
class Arena {
    static constexpr std::size_t page = 4096;

  public:
    /// Takes `size` bytes from the source. Throws std::invalid_argument unless `size` is a multiple of 4096,
    /// not 0, and at most options.limit; if the source has no memory, what the source throws, otherwise
    /// std::bad_alloc.
    explicit Arena(std::size_t size, const ArenaOptions &options = {})
        requires std::default_initializable<Upstream>
        : size_(size), options_(options) {
        start();
    }
    Arena(Upstream source, std::size_t size, const ArenaOptions &options = {})
        requires std::copy_constructible<Upstream>
        : source_(source), size_(size), options_(options) {
        start();
    }
    Arena(const Arena &) = delete;
    Arena &operator=(const Arena &) = delete;
    ~Arena();

    /// The next page, or null. Its bytes are uninitialized.
    [[nodiscard]] void *alloc_page() noexcept { return take<Failure::returns_null>(page, page); }

    /// In bytes.
    [[nodiscard]] static constexpr std::size_t page_size() noexcept { return page; }
    /// The number of pages in use: allocated, or skipped for an alignment or at the end of a mapping.
    [[nodiscard]] std::size_t pages_allocated() const noexcept {
        return (before_ + static_cast<std::size_t>(top_ - current_->start)) / page;
    }
    /// The number of pages, used or not. Grows with the arena.
    [[nodiscard]] std::size_t total_pages() const noexcept { return total_ / page; }

    /// A run of pages, as the Source concept requires.
    [[nodiscard]] void *allocate(std::size_t size, std::size_t alignment = page) {
        return take<Failure::throws>(size, alignment);
    }
    [[nodiscard]] void *try_allocate(std::size_t size, std::size_t alignment = page) noexcept {
        return take<Failure::returns_null>(size, alignment);
    }
    [[nodiscard]] Allocation try_allocate_at_least(std::size_t size, std::size_t alignment = page) noexcept {
        void *const data = try_allocate(size, alignment);
        return {data, data == nullptr ? 0 : run_of(size)};
    }

    /// Frees the run that was allocated last; any other stays until reset().
    void deallocate(void *data, std::size_t size, std::size_t /*alignment*/ = page) noexcept {
        if (data == nullptr) return;
        if constexpr (checked) {
            if (!end_run(data, size)) return;
        }
        // A mapping that was added has its record in front, so no run can end where another mapping's begin.
        auto *const at = static_cast<std::byte *>(data);
        if (at + run_of(size) == top_) top_ = at;
    }

    /// Frees all pages. The mappings are kept and reused in the same order.
    void reset() noexcept;

    /// Whether the address lies in a page of this arena. Linear in the number of mappings.
    [[nodiscard]] bool owns(const void *address) const noexcept { return extent_of(address) != nullptr; }

    [[nodiscard]] ArenaStatistics statistics() const noexcept;
    [[nodiscard]] const ArenaOptions &options() const noexcept { return options_; }
    [[nodiscard]] const Upstream &source() const noexcept { return source_; }

  private:
    static constexpr const char *name = "Arena";

    /// One mapping. The record of the first is in the arena, so that the whole mapping is pages; others have
    /// theirs in their first page.
    struct Extent {
        std::byte *start = nullptr; // of the pages
        std::byte *end = nullptr;
        std::byte *top = nullptr; // of what is in use, while this is not the current one
        Extent *newer = nullptr;
        void *mapping = nullptr;
        std::size_t size = 0; // of the mapping
        // In checked mode the pages are followed by a page that is never allocated, and that by a table of
        // the runs.
        std::byte *prepared = nullptr; // free pages before here are filled, those behind were never in use
        std::uint32_t *runs = nullptr; // for each page the length of the run that begins there, or 0
    };
    static constexpr std::uint32_t ended = std::uint32_t{1} << 31U; // in `runs`

    static constexpr std::size_t run_of(std::size_t size) noexcept {
        return round_up(size + (size == 0), page);
    }
    /// Bytes that checked mode needs behind the pages.
    static constexpr std::size_t extra_of(std::size_t bytes) noexcept {
        return checked ? page + bytes / page * sizeof(std::uint32_t) : 0;
    }
    static std::size_t page_number(const Extent &extent, const void *at) noexcept {
        return static_cast<std::size_t>(static_cast<const std::byte *>(at) - extent.start) / page;
    }
    static bool fits(const std::byte *top, const std::byte *end, std::size_t run,
                     std::size_t alignment) noexcept {
        const auto room = static_cast<std::size_t>(end - top);
        const std::size_t padding = alignment > page ? padding_at(top, alignment) : 0;
        return padding <= room && run <= room - padding;
    }

    /// The hot path.
    template <Failure F>
    void *take(std::size_t size, std::size_t alignment) noexcept(F == Failure::returns_null) {
        if (!is_possible(size, alignment, 2 * page)) [[unlikely]]
            return fail<F>();
        const std::size_t run = run_of(size);
        if (!fits(top_, end_, run, alignment)) [[unlikely]]
            return take_elsewhere<F>(run, alignment);
        return bump(run, alignment);
    }
    void *bump(std::size_t run, std::size_t alignment) noexcept {
        std::byte *const at = top_ + (alignment > page ? padding_at(top_, alignment) : 0);
        if constexpr (checked) begin_run(at, run);
        top_ = at + run;
        return at;
    }

    void start();
    template <Failure F>
    [[gnu::noinline]] void *take_elsewhere(std::size_t run, std::size_t alignment);
    template <Failure F>
    bool map(Extent &extent, std::size_t bytes);
    void enter(Extent *extent) noexcept;
    const Extent *extent_of(const void *address) const noexcept;

    void begin_run(std::byte *at, std::size_t run) noexcept;
    bool end_run(void *data, std::size_t size) noexcept;
    static void verify_ended(const Extent &extent) noexcept;

    std::byte *top_ = nullptr;
    std::byte *end_ = nullptr;
    Extent *current_ = &first_;
    std::size_t before_ = 0; // bytes in the mappings before the current one
    std::size_t total_ = 0;  // bytes that are pages
    std::size_t mapped_ = 0; // bytes taken from the source, without what checked mode adds
    Extent first_;
    [[no_unique_address]] HeldCopy<Upstream> source_;
    std::size_t size_;
    ArenaOptions options_;
};

Arena(std::size_t) -> Arena<>;
Arena(std::size_t, ArenaOptions) -> Arena<>;
template <Source S>
Arena(S &, std::size_t) -> Arena<Shared<S>>;
template <Source S>
Arena(S &, std::size_t, ArenaOptions) -> Arena<Shared<S>>;

template <Source Upstream>
void Arena<Upstream>::start() {
    if (size_ == 0 || size_ % page != 0)
        throw_invalid("reap::Arena: the size must be a multiple of 4096 bytes and not 0; round it up");
    if (size_ > options_.limit)
        throw_invalid(
            "reap::Arena: the size is above the limit, by default 256 MB; raise ArenaOptions::limit");
    map<Failure::throws>(first_, size_);
    first_.start = static_cast<std::byte *>(first_.mapping);
    total_ = size_;
    top_ = first_.start;
    end_ = first_.end;
    if constexpr (checked) first_.prepared = top_;
}

template <Source Upstream>
Arena<Upstream>::~Arena() {
    current_->top = top_;
    for (Extent *extent = &first_; extent != nullptr;) {
        if constexpr (checked) {
            verify_ended(*extent);
            if (extent->prepared > extent->top)
                guard::open(extent->top, static_cast<std::size_t>(extent->prepared - extent->top), name);
        }
        void *const mapping = extent->mapping;
        const std::size_t size = extent->size;
        extent = extent->newer;
        annotate::defined(mapping, size);
        source_.deallocate(mapping, size, page);
    }
}

template <Source Upstream>
void Arena<Upstream>::reset() noexcept {
    current_->top = top_;
    for (Extent *extent = &first_; extent != nullptr; extent = extent->newer) {
        if constexpr (checked) {
            verify_ended(*extent);
            const auto used = static_cast<std::size_t>(extent->top - extent->start);
            guard::close(extent->start, used, guard::Fill::reset);
            std::memset(extent->runs, 0, used / page * sizeof(std::uint32_t));
        }
        extent->top = extent->start;
    }
    before_ = 0;
    current_ = &first_;
    top_ = first_.start;
    end_ = first_.end;
}

template <Source Upstream>
ArenaStatistics Arena<Upstream>::statistics() const noexcept {
    ArenaStatistics found;
    found.held = mapped_;
    found.used = pages_allocated() * page;
    for (const Extent *extent = &first_; extent != nullptr; extent = extent->newer) ++found.mappings;
    return found;
}

// The slow path: a mapping that has no room.

/// A run in another mapping, which becomes the current one: one that was kept at a reset, or a new one.
template <Source Upstream>
template <Failure F>
void *Arena<Upstream>::take_elsewhere(std::size_t run, std::size_t alignment) {
    for (Extent **link = &current_->newer; *link != nullptr; link = &(*link)->newer) {
        Extent *const extent = *link;
        if (!fits(extent->start, extent->end, run, alignment)) continue;
        *link = extent->newer;
        enter(extent);
        return bump(run, alignment);
    }
    if (!options_.grows) return fail<F>();

    const std::size_t need = page + run + (alignment > page ? alignment - page : 0);
    const std::size_t allowed = (options_.limit - mapped_) & ~(page - 1);
    if (need > allowed) return fail<F>();
    const std::size_t wanted = detail::min(detail::max(size_, need), allowed);
    Extent extent;
    // A source that cannot supply the usual size may still supply the needed one.
    if (!(wanted > need && map<Failure::returns_null>(extent, wanted)) && !map<F>(extent, need))
        return nullptr;
    extent.start = static_cast<std::byte *>(extent.mapping) + page;
    extent.top = extent.start;
    extent.prepared = extent.start;
    total_ += static_cast<std::size_t>(extent.end - extent.start);
    enter(::new (extent.mapping) Extent(extent));
    return bump(run, alignment);
}

/// Takes memory from the source, for an extent that has no start yet.
template <Source Upstream>
template <Failure F>
bool Arena<Upstream>::map(Extent &extent, std::size_t bytes) {
    const std::size_t whole = bytes + extra_of(bytes);
    auto *const data = static_cast<std::byte *>(obtain<F>(source_, whole, page));
    if (data == nullptr) return false;
    mapped_ += bytes;
    extent.mapping = data;
    extent.size = whole;
    extent.end = data + bytes;
    if constexpr (checked) {
        void *const table = data + bytes + page;
        extent.runs = static_cast<std::uint32_t *>(std::memset(table, 0, whole - bytes - page));
        // All but the room for a record: the pages are unpoisoned as they are allocated.
        annotate::no_access(data + sizeof(Extent), bytes + page - sizeof(Extent));
    }
    return true;
}

/// Puts an extent behind the current one, and continues there. The rest of the current one is skipped.
template <Source Upstream>
void Arena<Upstream>::enter(Extent *extent) noexcept {
    before_ += static_cast<std::size_t>(end_ - current_->start);
    current_->top = top_;
    extent->newer = current_->newer;
    current_->newer = extent;
    current_ = extent;
    top_ = extent->start;
    end_ = extent->end;
}

template <Source Upstream>
auto Arena<Upstream>::extent_of(const void *address) const noexcept -> const Extent * {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    for (const Extent *extent = &first_; extent != nullptr; extent = extent->newer) {
        const auto pages = static_cast<std::size_t>(extent->end - extent->start);
        if (at - reinterpret_cast<std::uintptr_t>(extent->start) < pages) return extent;
    }
    return nullptr;
}

// Checked mode. A run in use is unpoisoned, everything else is poisoned, and filled if it was in use before
// or is next to a run; the rest is not touched, so that a large arena stays cheap.

/// Unpoisons a run at or behind top_.
template <Source Upstream>
void Arena<Upstream>::begin_run(std::byte *at, std::size_t run) noexcept {
    Extent &extent = *current_;
    if (extent.prepared > at)
        guard::open(at, detail::min(static_cast<std::size_t>(extent.prepared - at), run), name);
    annotate::undefined(at, run);
    std::byte *const behind = detail::max(extent.prepared, at + run);
    if (std::byte *const next = at + run + page; next > behind) {
        guard::close(behind, static_cast<std::size_t>(next - behind), guard::Fill::fresh);
        extent.prepared = next;
    }
    std::uint32_t *const first = extent.runs + page_number(extent, top_);
    std::uint32_t *const mine = extent.runs + page_number(extent, at);
    std::fill(first, mine, 0);
    *mine = static_cast<std::uint32_t>(run / page);
}

/// Poisons a run that should be in use; returns false if it is not, which is reported.
template <Source Upstream>
bool Arena<Upstream>::end_run(void *data, std::size_t size) noexcept {
    const Extent *const extent = extent_of(data);
    if (extent == nullptr || padding_at(data, page) != 0) {
        report_misuse({Misuse::foreign_free, data, 0, name});
        return false;
    }
    std::uint32_t &pages = extent->runs[page_number(*extent, data)];
    const std::size_t run = std::size_t{pages & ~ended} * page;
    if (pages == 0 || (pages & ended) != 0 || run_of(size) != run) {
        const Misuse what = pages == 0             ? Misuse::foreign_free
                            : (pages & ended) != 0 ? Misuse::double_free
                                                   : Misuse::wrong_size;
        report_misuse({what, data, run, name});
        return false;
    }
    pages |= ended;
    annotate::ended(data, run);
    guard::close(data, run, guard::Fill::freed);
    return true;
}

/// Whether ended runs are unchanged since.
template <Source Upstream>
void Arena<Upstream>::verify_ended(const Extent &extent) noexcept {
    const std::uint32_t *pages = extent.runs;
    for (std::byte *at = extent.start; at < extent.top;) {
        const std::size_t run = detail::max(std::size_t{*pages & ~ended}, std::size_t{1});
        if ((*pages & ended) != 0) guard::open(at, run * page, name);
        at += run * page;
        pages += run;
    }
}

} // namespace reap::inline REAP_MODE
