#pragma once

#include <cstddef>
#include <memory>

#include "reap/core/failure.h"
#include "reap/core/mode.h"
#include "reap/core/size.h"
#include "reap/core/source.h"
#include "reap/layer/region.h"

// Layers for containers that take an allocator as a template parameter.

namespace reap::inline REAP_MODE {

/// Memory for `count` elements, at least as many as were asked for. The standard library's own type, where it
/// has one (C++23).
#if defined(__cpp_lib_allocate_at_least)
template <class Pointer>
using AllocationResult = std::allocation_result<Pointer>;
#else
template <class Pointer>
struct AllocationResult {
    Pointer ptr;
    std::size_t count;
};
#endif

/// An STL allocator that refers to a layer, which is to outlive the container.
///
/// It does not follow its container: as with pmr, a container that is assigned to or swapped keeps its own
/// layer, so a move assignment between two layers moves each element, and a swap between two is undefined. A
/// copied container uses the layer of the one it was copied from. Two allocators are equal if they refer to
/// the same layer.
///
/// It can be had without virtual calls for any layer; the price is that the layer is part of the container's
/// type. It is one pointer in size. Thread-safe if the layer is.
template <class T, Source Layer = Region<>>
class StlAllocator {
  public:
    using value_type = T;

    // Not explicit: a container is written `std::vector<T, A> v{region}`, as it is with a memory_resource.
    StlAllocator(Layer &layer) noexcept : layer_(&layer) {}
    template <class U>
    StlAllocator(const StlAllocator<U, Layer> &other) noexcept : layer_(&other.layer()) {}

    /// Memory for `count` elements; throws std::bad_array_new_length for more than any array has, else what
    /// the layer throws.
    [[nodiscard, gnu::returns_nonnull]] T *allocate(std::size_t count) {
        return static_cast<T *>(obtain<Failure::throws>(*layer_, bytes(count), alignof(T)));
    }

    /// The same, with all the elements that there is room for. It is given back with the count asked for, the
    /// count returned, or any between.
    [[nodiscard]] AllocationResult<T *> allocate_at_least(std::size_t count) {
        const Allocation got = obtain_at_least<Failure::throws>(*layer_, bytes(count), alignof(T));
        return {static_cast<T *>(got.data), got.size / each};
    }

    void deallocate(T *data, std::size_t count) noexcept {
        layer_->deallocate(static_cast<void *>(data), count * each, alignof(T));
    }

    /// The layer that it refers to.
    [[nodiscard]] Layer &layer() const noexcept { return *layer_; }

    template <class U>
    friend bool operator==(const StlAllocator &mine, const StlAllocator<U, Layer> &other) noexcept {
        return &mine.layer() == &other.layer();
    }

  private:
    static constexpr std::size_t each = sizeof(T); // NOLINT(bugprone-sizeof-expression): T may be a pointer

    static std::size_t bytes(std::size_t count) {
        if (count > max_object / each) [[unlikely]]
            throw_bad_array_new_length();
        return count * each;
    }

    Layer *layer_;
};

} // namespace reap::inline REAP_MODE
