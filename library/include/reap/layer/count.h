#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "reap/core/failure.h"
#include "reap/core/mode.h"
#include "reap/core/size.h"
#include "reap/core/source.h"
#include "reap/source/cached_pages.h"

namespace reap::inline REAP_MODE {

/// The totals of a Count. Sizes in bytes as requested, 0 as 1.
struct CountStatistics {
    std::uint64_t allocations = 0;   ///< requests that were met
    std::uint64_t deallocations = 0; ///< frees
    std::uint64_t failures = 0;      ///< requests that were not met
    std::uint64_t bytes = 0;         ///< of all allocations together
    std::size_t live_blocks = 0;     ///< now
    std::size_t live_bytes = 0;      ///< now
    std::size_t peak_bytes = 0;      ///< maximum of live_bytes
};

/// Counts the requests to a source, and what of it is live.
///
/// Not thread-safe, and it does not see what the layer above does within its memory. Returns no more than was
/// requested, so that the freed size is the counted one. Costs a handful of additions per call.
template <Source S = CachedPages>
class Count {
  public:
    Count()
        requires std::default_initializable<S>
    = default;
    explicit Count(S source) noexcept
        requires std::copy_constructible<S>
        : source_(source) {}
    Count(const Count &) = delete;
    Count &operator=(const Count &) = delete;

    /// Throws what the source throws, otherwise std::bad_alloc.
    [[nodiscard]] void *allocate(std::size_t size, std::size_t alignment) {
        return take<Failure::throws>(size, alignment);
    }
    [[nodiscard]] void *try_allocate(std::size_t size, std::size_t alignment) noexcept {
        return take<Failure::returns_null>(size, alignment);
    }
    void deallocate(void *data, std::size_t size, std::size_t alignment) noexcept {
        if (data == nullptr) return;
        ++statistics_.deallocations;
        --statistics_.live_blocks;
        statistics_.live_bytes -= size + (size == 0);
        source_.deallocate(data, size, alignment);
    }
    [[nodiscard]] bool owns(const void *address) const noexcept
        requires OwningSource<S>
    {
        return source_.owns(address);
    }

    [[nodiscard]] const CountStatistics &statistics() const noexcept { return statistics_; }
    [[nodiscard]] const S &source() const noexcept { return source_; }

  private:
    template <Failure F>
    void *take(std::size_t size, std::size_t alignment) {
        // Counted first, and undone below: the source may throw.
        ++statistics_.failures;
        void *const data = obtain<F>(source_, size, alignment);
        if (data == nullptr) return nullptr;
        --statistics_.failures;
        ++statistics_.allocations;
        ++statistics_.live_blocks;
        statistics_.bytes += size + (size == 0);
        statistics_.live_bytes += size + (size == 0);
        statistics_.peak_bytes = detail::max(statistics_.peak_bytes, statistics_.live_bytes);
        return data;
    }

    [[no_unique_address]] HeldCopy<S> source_;
    CountStatistics statistics_;
};

Count() -> Count<>;
template <Source S>
Count(S &) -> Count<Shared<S>>;

} // namespace reap::inline REAP_MODE
