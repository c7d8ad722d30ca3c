#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <new>
#include <utility>

#include "reap/core/annotate.h"
#include "reap/core/size.h"
#include "reap/core/source.h"

namespace reap::inline REAP_MODE {

/// A heap that quicklists can be put in front of: its object sizes are multiples of a granule.
template <class H>
concept GranularHeap = UnsizedSource<H> && requires(H &heap, void *object, std::size_t size) {
    { H::granule } -> std::convertible_to<std::size_t>;
    { H::least_usable } -> std::convertible_to<std::size_t>;
    { H::usable_for(size) } noexcept -> std::same_as<std::size_t>;
    { H::usable_size(object) } noexcept -> std::same_as<std::size_t>;
    { heap.try_allocate_held(size, size) } noexcept -> std::same_as<void *>;
    { heap.is_large(size, size) } noexcept -> std::same_as<bool>;
};

/// Lists of freed objects in front of a heap, one for each of its `Lists` smallest sizes: a freed object goes
/// on the list of its size, and the next request for that size gets it, last in, first out.
///
/// Objects on a list are not free to the heap, so they are not coalesced (Weinstock's quick fit, 1976, defers
/// it). Before the heap asks its source for more, everything on lists is freed to it. allocate and deallocate
/// cost some ten instructions where a list serves. As thread-safe as the heap; does not detect misuse.
template <GranularHeap Heap, std::size_t Lists = 127>
class Quicklists {
  public:
    static constexpr std::size_t granule = Heap::granule;
    /// Larger objects are left to the heap.
    static constexpr std::size_t largest = Heap::least_usable + (Lists - 1) * granule;

    /// The heap is made with these arguments.
    template <class... Arguments>
        requires std::constructible_from<Heap, Arguments...>
    constexpr explicit Quicklists(Arguments &&...arguments) : heap_(std::forward<Arguments>(arguments)...) {}
    Quicklists(const Quicklists &) = delete;
    Quicklists &operator=(const Quicklists &) = delete;
    ~Quicklists() {
        pool_.emptied();
        flush();
    }

    /// Throws what the heap throws.
    [[nodiscard, gnu::returns_nonnull]] void *allocate(std::size_t size, std::size_t alignment)
        requires ThrowingSource<Heap>
    {
        return pool_.handed_out(annotate::quietly([=, this]() -> void * {
                                    void *const object = take_held(size, alignment);
                                    return object != nullptr ? object : heap_.allocate(size, alignment);
                                }),
                                size);
    }
    /// Returns null if the heap has none.
    [[nodiscard]] void *try_allocate(std::size_t size, std::size_t alignment) noexcept {
        return pool_.handed_out(annotate::quietly([=, this]() -> void * {
                                    void *const object = take_held(size, alignment);
                                    return object != nullptr ? object : heap_.try_allocate(size, alignment);
                                }),
                                size);
    }
    /// Frees such memory. Null is ignored.
    void deallocate(void *object) noexcept {
        if (object == nullptr) return;
        pool_.came_back(object);
        const annotate::Quiet quiet;
        const std::size_t usable = Heap::usable_size(object);
        if (usable > largest) return heap_.deallocate(object);
        Free *&list = list_of(usable);
        list = ::new (object) Free{list};
        kept_ += usable;
    }
    void deallocate(void *object, std::size_t /*size*/, std::size_t /*alignment*/) noexcept {
        deallocate(object);
    }
    [[nodiscard]] void *try_resize(void *object, std::size_t size, std::size_t new_size,
                                   std::size_t alignment) noexcept
        requires ResizingSource<Heap>
    {
        void *const resized =
            annotate::quietly([=, this] { return heap_.try_resize(object, size, new_size, alignment); });
        if (resized != nullptr) pool_.resized(resized, new_size);
        return resized;
    }

    /// Frees everything on lists to the heap.
    void flush() noexcept {
        const annotate::Quiet quiet;
        for (Free *&list : lists_)
            while (list != nullptr) heap_.deallocate(std::exchange(list, list->next));
        kept_ = 0;
    }
    /// Bytes on lists.
    [[nodiscard]] std::size_t kept() const noexcept { return kept_; }
    [[nodiscard]] Heap &heap() noexcept { return heap_; }
    [[nodiscard]] const Heap &heap() const noexcept { return heap_; }

  private:
    struct Free {
        Free *next;
    };

    /// From a list, or what the heap has without asking its source; otherwise the lists are emptied.
    [[nodiscard, gnu::always_inline]] void *take_held(std::size_t size, std::size_t alignment) noexcept {
        if (size <= largest && alignment <= granule && is_alignment(alignment)) [[likely]] {
            Free *&list = list_of(Heap::usable_for(size));
            if (Free *const object = list; object != nullptr) {
                list = object->next;
                kept_ -= Heap::usable_size(object);
                return object;
            }
        }
        if (!heap_.is_large(size, alignment)) {
            void *const object = heap_.try_allocate_held(size, alignment);
            if (object != nullptr) return object;
            flush();
        }
        return nullptr;
    }

    /// Of a size that an object has.
    [[nodiscard]] Free *&list_of(std::size_t usable) noexcept {
        return lists_[(detail::max(usable, Heap::least_usable) - Heap::least_usable) / granule];
    }

    Heap heap_;
    std::array<Free *, Lists> lists_{};
    std::size_t kept_ = 0;
    [[no_unique_address]] annotate::Pool<Quicklists> pool_{"Quicklists"};
};

} // namespace reap::inline REAP_MODE
