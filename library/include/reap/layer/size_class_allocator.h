#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "reap/core/annotate.h"
#include "reap/core/failure.h"
#include "reap/core/guard.h"
#include "reap/core/keep.h"
#include "reap/core/misuse.h"
#include "reap/core/size.h"
#include "reap/core/source.h"
#include "reap/layer/fixed_block.h"
#include "reap/source/cached_pages.h"

namespace reap::inline REAP_MODE {

/// A list of size classes, and the class of a request: computed at compile time where the size is known,
/// otherwise one load from a table.
template <std::size_t... Classes>
class ClassList {
  public:
    static constexpr std::size_t count = sizeof...(Classes);
    static constexpr std::array<std::size_t, count> sizes{Classes...};
    static constexpr std::size_t largest = sizes[count - 1];
    static_assert(count < 256 && largest <= 65536, "classes are for small objects");
    static_assert(
        [] {
            for (std::size_t number = 1; number < count; ++number)
                if (sizes[number] <= sizes[number - 1]) return false;
            return true;
        }(),
        "classes are in rising order");
    static_assert(((Classes > 0 && Classes % sizeof(void *) == 0) && ...),
                  "a class is a multiple of sizeof(void *)");

    /// The alignment of a class's blocks: a power of two divides its multiples, up to a cache line.
    [[nodiscard]] static constexpr std::size_t alignment_of(std::size_t size) noexcept {
        return detail::min(size & (0 - size), std::size_t{64});
    }

    /// The index of the smallest class that holds such an object, or `count` if there is none.
    [[nodiscard]] static constexpr std::size_t find(std::size_t size, std::size_t alignment) noexcept {
        if (size > largest) [[unlikely]]
            return count;
        std::size_t number = table[(size + unit - 1) / unit];
        if (number >= count) __builtin_unreachable();
        if (alignment - 1 >= every) [[unlikely]] { // 0 wraps, and is rejected
            if (!is_alignment(alignment)) return count;
            while (number < count && alignment > alignment_of(sizes[number])) ++number;
        } else if ((alignment & (alignment - 1)) != 0) [[unlikely]] {
            return count;
        }
        return number;
    }

  private:
    /// The divisor of all classes, and their common alignment.
    static constexpr std::size_t unit = std::size_t{1} << std::countr_zero((Classes | ...));
    static constexpr std::size_t every = detail::min(unit, std::size_t{64});
    static constexpr std::array<std::uint8_t, largest / unit + 1> table = [] {
        std::array<std::uint8_t, largest / unit + 1> numbers{};
        for (std::size_t at = 0; at < numbers.size(); ++at) {
            std::size_t number = 0;
            while (sizes[number] < at * unit) ++number;
            numbers[at] = static_cast<std::uint8_t>(number);
        }
        return numbers;
    }();
};

/// What a size-class allocator holds.
struct SizeClassStatistics {
    std::size_t held = 0; ///< bytes taken from the source
    std::size_t live = 0; ///< number of allocated objects
};

namespace detail {
template <std::size_t... Classes>
struct ClassListOf {
    using Type = ClassList<Classes...>;
};
template <>
struct ClassListOf<> {
    using Type = ClassList<32, 64, 128, 256>;
};
} // namespace detail

/// Small objects of a few sizes: each request is rounded up to a class, and each class is a FixedBlock.
///
/// It serves nothing larger than its largest class (combine it with a source that does by Segregate),
/// requires sized deallocation, and is not thread-safe (PerThread, Locked). It can be neither copied nor
/// moved. It is a Source up to its largest class, and try_allocate_at_least() returns the size of the class.
///
/// The classes must be ascending; the default is 32, 64, 128 and 256. An object has the alignment of its
/// class: the largest power of two that divides it, at most 64. A request whose alignment exceeds its size
/// goes to a larger class.
///
/// Costs a load from a table in addition to FixedBlock's hot path, or nothing where the size is known at
/// compile time. The idea, and the default classes, are hpalloc's (seed 004 of this project).
template <Source Upstream = CachedPages, std::size_t... List>
class SizeClassAllocator {
  public:
    using Classes = typename detail::ClassListOf<List...>::Type;
    static constexpr std::size_t largest_class = Classes::largest;

    /// Each class has its own chunks and its own limit.
    explicit SizeClassAllocator(const FixedBlockOptions &options = {})
        requires std::default_initializable<Upstream>
        : SizeClassAllocator(options, std::make_index_sequence<Classes::count>()) {}
    explicit SizeClassAllocator(Upstream source, const FixedBlockOptions &options = {})
        requires std::copy_constructible<Upstream>
        : SizeClassAllocator(source, options, std::make_index_sequence<Classes::count>()) {}
    SizeClassAllocator(const SizeClassAllocator &) = delete;
    SizeClassAllocator &operator=(const SizeClassAllocator &) = delete;
    ~SizeClassAllocator() { pool_.emptied(); }

    /// Memory for an object; throws std::bad_alloc for more than the largest class, otherwise what the source
    /// throws. A size of 0 counts as 1.
    [[nodiscard, gnu::returns_nonnull]] void *allocate(std::size_t size, std::size_t alignment = 8) {
        const std::size_t number = Classes::find(size, alignment);
        if (number == Classes::count) [[unlikely]]
            throw_bad_alloc();
        if constexpr (checked) return pools_[number].allocate(size, 1);
        return pool_.handed_out(annotate::quietly([&] { return pools_[number].allocate(); }), size);
    }

    /// The same, but returns null on failure.
    [[nodiscard]] void *try_allocate(std::size_t size, std::size_t alignment = 8) noexcept {
        const std::size_t number = Classes::find(size, alignment);
        if (number == Classes::count) [[unlikely]]
            return nullptr;
        if constexpr (checked) return pools_[number].try_allocate(size, 1);
        return pool_.handed_out(annotate::quietly([&] { return pools_[number].try_allocate(); }), size);
    }

    /// The same, with the size of the class, all of which may be used.
    [[nodiscard]] Allocation allocate_at_least(std::size_t size, std::size_t alignment = 8) {
        const std::size_t number = Classes::find(size, alignment);
        if (number == Classes::count) [[unlikely]]
            throw_bad_alloc();
        void *const object = annotate::quietly([&] { return pools_[number].allocate(); });
        return {pool_.handed_out(object, Classes::sizes[number]), Classes::sizes[number]};
    }
    [[nodiscard]] Allocation try_allocate_at_least(std::size_t size, std::size_t alignment = 8) noexcept {
        const std::size_t number = Classes::find(size, alignment);
        if (number == Classes::count) [[unlikely]]
            return {};
        void *const object = annotate::quietly([&] { return pools_[number].try_allocate(); });
        return {pool_.handed_out(object, Classes::sizes[number]), Classes::sizes[number]};
    }

    /// Frees an object, given the requested size, that of the class, or any between, and the requested
    /// alignment.
    void deallocate(void *object, std::size_t size, std::size_t alignment = 8) noexcept {
        const std::size_t number = Classes::find(size, alignment);
        if constexpr (checked) return guarded_deallocate(object, size, number);
        if (object == nullptr) return;
        if constexpr (hardened) return retire(object, number);
        if (number == Classes::count) __builtin_unreachable();
        pool_.came_back(object);
        const annotate::Quiet quiet;
        pools_[number].deallocate(object);
    }

    /// Frees all objects; each class keeps chunks of up to `keep` bytes in total.
    void reset(std::size_t keep = keep_all) noexcept {
        pool_.emptied();
        for (Pool &pool : pools_) pool.reset(keep);
    }

    /// Whether the address lies in a chunk of this allocator. Linear in the number of chunks.
    [[nodiscard]] bool owns(const void *address) const noexcept {
        for (const Pool &pool : pools_)
            if (pool.owns(address)) return true;
        return false;
    }

    [[nodiscard]] SizeClassStatistics statistics() const noexcept {
        SizeClassStatistics found;
        for (const Pool &pool : pools_) {
            const FixedBlockStatistics mine = pool.statistics();
            found.held += mine.held;
            found.live += mine.live;
        }
        return found;
    }
    [[nodiscard]] const Upstream &source() const noexcept { return source_; }

  private:
    using Pool = FixedBlock<Shared<Upstream>>;
    static constexpr const char *name = "SizeClassAllocator";

    template <std::size_t... Numbers>
    SizeClassAllocator(const FixedBlockOptions &options, std::index_sequence<Numbers...> /*all*/)
        : pools_{pool(Classes::sizes[Numbers], options)...} {
        (pools_[Numbers].belong_to(this), ...);
    }
    template <std::size_t... Numbers>
    SizeClassAllocator(Upstream source, const FixedBlockOptions &options,
                       std::index_sequence<Numbers...> /*all*/)
        : source_(source), pools_{pool(Classes::sizes[Numbers], options)...} {
        (pools_[Numbers].belong_to(this), ...);
    }
    Pool pool(std::size_t size, const FixedBlockOptions &options) {
        return Pool(Shared<Upstream>(source_), size, Classes::alignment_of(size), options);
    }

    /// Hardened mode's free.
    void retire(void *object, std::size_t number) noexcept {
        if (number == Classes::count || !pools_[number].holds(object)) [[unlikely]] {
            bool mine = false;
            for (const Pool &pool : pools_) mine = mine || pool.holds(object);
            return report_misuse({mine ? Misuse::wrong_size : Misuse::foreign_free, object, 0, name});
        }
        pools_[number].retire_held(object, name);
    }

    void guarded_deallocate(void *object, std::size_t size, std::size_t number) noexcept {
        if (object == nullptr) return;
        if (number == Classes::count || !pools_[number].owns(object)) {
            // Mine, but of another class?
            report_misuse({owns(object) ? Misuse::wrong_size : Misuse::foreign_free, object, 0, name});
            return;
        }
        pools_[number].deallocate(object, size, 1);
    }

    [[no_unique_address]] HeldCopy<Upstream> source_;
    Pool pools_[Classes::count];
    [[no_unique_address]] annotate::Pool<SizeClassAllocator> pool_{name};
};

SizeClassAllocator(FixedBlockOptions) -> SizeClassAllocator<>;
template <Source S>
SizeClassAllocator(S &) -> SizeClassAllocator<Shared<S>>;
template <Source S>
SizeClassAllocator(S &, FixedBlockOptions) -> SizeClassAllocator<Shared<S>>;

} // namespace reap::inline REAP_MODE
