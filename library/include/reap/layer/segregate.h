#pragma once

#include <concepts>
#include <cstddef>

#include "reap/core/mode.h"
#include "reap/core/size.h"
#include "reap/core/source.h"

namespace reap::inline REAP_MODE {

/// Small requests, of up to Threshold bytes, go to one source, all others to another.
///
/// The size passed to a free selects the source, so no room is needed for that, and a free with a wrong size
/// may reach the wrong source. A request that one source cannot meet is not tried with the other; Fallback
/// does that. Costs a comparison. As thread-safe as both. The idea is Heap Layers' SegHeap.
template <std::size_t Threshold, Source Small, Source Large>
class Segregate {
    static_assert(Threshold > 0, "all would be large");

  public:
    Segregate()
        requires std::default_initializable<Small> && std::default_initializable<Large>
    = default;
    Segregate(Small small, Large large) noexcept
        requires std::copy_constructible<Small> && std::copy_constructible<Large>
        : small_(small), large_(large) {}
    Segregate(const Segregate &) = delete;
    Segregate &operator=(const Segregate &) = delete;

    /// Throws what the selected source throws, otherwise std::bad_alloc.
    [[nodiscard]] void *allocate(std::size_t size, std::size_t alignment) {
        if (size <= Threshold) return obtain<Failure::throws>(small_, size, alignment);
        return obtain<Failure::throws>(large_, size, alignment);
    }
    [[nodiscard]] void *try_allocate(std::size_t size, std::size_t alignment) noexcept {
        return size <= Threshold ? small_.try_allocate(size, alignment)
                                 : large_.try_allocate(size, alignment);
    }
    [[nodiscard]] Allocation try_allocate_at_least(std::size_t size, std::size_t alignment) noexcept {
        if (size > Threshold) return obtain_at_least<Failure::returns_null>(large_, size, alignment);
        // More than the threshold would be freed to the wrong source.
        const Allocation got = obtain_at_least<Failure::returns_null>(small_, size, alignment);
        return {got.data, detail::min(got.size, Threshold)};
    }
    void deallocate(void *data, std::size_t size, std::size_t alignment) noexcept {
        if (data == nullptr) return;
        if (size <= Threshold) {
            small_.deallocate(data, size, alignment);
        } else {
            large_.deallocate(data, size, alignment);
        }
    }
    [[nodiscard]] bool owns(const void *address) const noexcept
        requires OwningSource<Small> && OwningSource<Large>
    {
        return small_.owns(address) || large_.owns(address);
    }

    [[nodiscard]] Small &small() noexcept { return small_; }
    [[nodiscard]] Large &large() noexcept { return large_; }

  private:
    [[no_unique_address]] HeldCopy<Small> small_;
    [[no_unique_address]] HeldCopy<Large> large_;
};

} // namespace reap::inline REAP_MODE
