#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>

#include "reap/core/failure.h"
#include "reap/core/mode.h"
#include "reap/core/source.h"
#include "reap/core/typed.h"
#include "reap/layer/region.h"
#include "reap/source/upstream.h"

// Layers for containers that take an allocator as a template parameter.

namespace reap::inline REAP_MODE {

/// Memory for `count` elements, at least as many as requested. The standard library's own type, where it has
/// one (C++23).
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

/// An STL allocator that refers to a layer, which must outlive the container.
///
/// It does not propagate: as with pmr, a container that is assigned to or swapped keeps its own layer, so a
/// move assignment between two layers moves each element, and a swap between two is undefined. A copied
/// container uses the layer of the one it was copied from. Two allocators are equal if they refer to the same
/// layer.
///
/// A default-constructed one refers to the current default memory resource (std::pmr::get_default_resource),
/// as std::pmr::polymorphic_allocator does. This serves code that constructs allocators itself, such as
/// nlohmann::basic_json. Such code allocates from a layer of yours if the default resource is a PmrResource,
/// which must outlive everything allocated meanwhile.
///
/// It works for any layer without virtual calls; the price is that the layer is part of the container's type.
/// It is one pointer in size. Costs two instructions in addition to the layer's, which distinguish a layer
/// from a resource. Thread-safe if the layer is.
template <class T, Source Layer = Region<>>
class StlAllocator {
    // The lowest bit of the address distinguishes it from a resource.
    static constexpr bool can_be_resource = alignof(Layer) > 1;

  public:
    using value_type = T;

    /// Refers to the default memory resource.
    StlAllocator() noexcept : place_(reinterpret_cast<std::byte *>(std::pmr::get_default_resource()) + 1) {}
    // Not explicit: a container is written `std::vector<T, A> v{region}`, as with a memory_resource.
    StlAllocator(Layer &layer) noexcept : place_(reinterpret_cast<std::byte *>(&layer)) {}
    template <class U>
    StlAllocator(const StlAllocator<U, Layer> &other) noexcept : place_(other.place_) {}

    /// Memory for `count` elements; throws std::bad_array_new_length for more elements than any array can
    /// have, otherwise what the layer throws.
    [[nodiscard, gnu::returns_nonnull]] T *allocate(std::size_t count) {
        const std::size_t size = detail::bytes_of_array<T>(count);
        if (resource() != nullptr) [[unlikely]]
            return static_cast<T *>(Upstream<>(resource()).allocate(size, alignof(T)));
        return static_cast<T *>(obtain<Failure::throws>(layer(), size, alignof(T)));
    }

    /// The same, with all the elements that there is room for. It is freed with the requested count, the
    /// returned count, or any between.
    [[nodiscard]] AllocationResult<T *> allocate_at_least(std::size_t count) {
        if (resource() != nullptr) [[unlikely]]
            return {allocate(count), count};
        const Allocation got =
            obtain_at_least<Failure::throws>(layer(), detail::bytes_of_array<T>(count), alignof(T));
        return {static_cast<T *>(got.data), got.size / each};
    }

    void deallocate(T *data, std::size_t count) noexcept {
        if (resource() != nullptr) [[unlikely]]
            return Upstream<>(resource()).deallocate(static_cast<void *>(data), count * each, alignof(T));
        layer().deallocate(static_cast<void *>(data), count * each, alignof(T));
    }

    /// The layer that it refers to. Undefined if it refers to a memory resource.
    // NOLINTNEXTLINE(clang-analyzer-core.uninitialized.UndefReturn): one made of no layer is asked for none.
    [[nodiscard]] Layer &layer() const noexcept { return *reinterpret_cast<Layer *>(place_); }
    /// The memory resource that it refers to; null if it refers to a layer.
    [[nodiscard]] std::pmr::memory_resource *resource() const noexcept {
        if (!can_be_resource || reinterpret_cast<std::uintptr_t>(place_) % 2 == 0) return nullptr;
        return reinterpret_cast<std::pmr::memory_resource *>(place_ - 1);
    }

    template <class U>
    friend bool operator==(const StlAllocator &mine, const StlAllocator<U, Layer> &other) noexcept {
        const StlAllocator same(other);
        if (mine.resource() == nullptr || same.resource() == nullptr) return mine.place_ == same.place_;
        return *mine.resource() == *same.resource();
    }

  private:
    template <class U, Source L>
    friend class StlAllocator;

    static constexpr std::size_t each = sizeof(T); // NOLINT(bugprone-sizeof-expression): T may be a pointer

    std::byte *place_; // of a layer; or one byte past the beginning of a memory resource
};

/// The same for a region, for templates whose parameter is a template of one parameter.
template <class T>
using RegionAllocator = StlAllocator<T>;

} // namespace reap::inline REAP_MODE
