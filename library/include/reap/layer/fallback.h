#pragma once

#include <concepts>
#include <cstddef>

#include "reap/core/mode.h"
#include "reap/core/source.h"

namespace reap::inline REAP_MODE {

/// One source, and another for requests that the first cannot meet, such as a buffer on the stack and then
/// the heap.
///
/// A free asks the first source whether it owns the memory, and costs what that costs: very little for a
/// Buffer, a walk over the chunks for a Region. Memory of the second source stays there, also when the first
/// has room again. As thread-safe as both.
template <OwningSource First, Source Second>
class Fallback {
  public:
    Fallback()
        requires std::default_initializable<First> && std::default_initializable<Second>
    = default;
    Fallback(First first, Second second) noexcept
        requires std::copy_constructible<First> && std::copy_constructible<Second>
        : first_(first), second_(second) {}
    Fallback(const Fallback &) = delete;
    Fallback &operator=(const Fallback &) = delete;

    /// Throws what the second source throws, otherwise std::bad_alloc.
    [[nodiscard]] void *allocate(std::size_t size, std::size_t alignment) {
        void *const data = first_.try_allocate(size, alignment);
        return data != nullptr ? data : obtain<Failure::throws>(second_, size, alignment);
    }
    [[nodiscard]] void *try_allocate(std::size_t size, std::size_t alignment) noexcept {
        void *const data = first_.try_allocate(size, alignment);
        return data != nullptr ? data : second_.try_allocate(size, alignment);
    }
    [[nodiscard]] Allocation try_allocate_at_least(std::size_t size, std::size_t alignment) noexcept {
        const Allocation got = obtain_at_least<Failure::returns_null>(first_, size, alignment);
        return got.data != nullptr ? got : obtain_at_least<Failure::returns_null>(second_, size, alignment);
    }
    void deallocate(void *data, std::size_t size, std::size_t alignment) noexcept {
        if (data == nullptr) return;
        if (first_.owns(data)) {
            first_.deallocate(data, size, alignment);
        } else {
            second_.deallocate(data, size, alignment);
        }
    }
    [[nodiscard]] bool owns(const void *address) const noexcept
        requires OwningSource<Second>
    {
        return first_.owns(address) || second_.owns(address);
    }

    [[nodiscard]] First &first() noexcept { return first_; }
    [[nodiscard]] Second &second() noexcept { return second_; }

  private:
    [[no_unique_address]] HeldCopy<First> first_;
    [[no_unique_address]] HeldCopy<Second> second_;
};

template <Source F, Source S>
Fallback(F &, S &) -> Fallback<Shared<F>, Shared<S>>;

} // namespace reap::inline REAP_MODE
