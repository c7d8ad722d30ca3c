#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "reap/core/failure.h"
#include "reap/core/mode.h"

// The contract that everything here is built on. Pages come from a source. A layer that allocates memory of
// any size is a source as well, so layers stack on layers, and a composition is read base first:
//
//   reap::SystemPages                       the system's pages
//   reap::ChunkCache<SystemPages>           the same, with a few kept for the next to ask
//   reap::Region<ChunkCache<SystemPages>>   objects, bumped out of chunks of these
//
// The idea that layers compose as types is Heap Layers' (Berger, Zorn, McKinley, PLDI 2001).

namespace reap::inline REAP_MODE {

/// An allocation with its usable size: at least what was requested.
struct Allocation {
    void *data = nullptr;
    std::size_t size = 0;
};

/// Allocates and frees memory.
///
/// `try_allocate(size, alignment)` returns memory for any size (0 counts as 1) at any power of two, or null
/// if the alignment is invalid or memory is exhausted. It never throws. `deallocate(data, size, alignment)`
/// frees it, given the same size and alignment. It is never called with null.
///
/// A source may also have the following, which is used where present: `allocate(size, alignment)` that throws
/// its own exception instead of returning null; `try_allocate_at_least(size, alignment)`, an Allocation that
/// may be larger than requested. Such memory is freed with the requested size, the returned size, or any size
/// between. `deallocate(data)`, unsized deallocation. `try_resize(data, size, new_size, alignment)`, which
/// resizes memory in place or moves it, contents included, or returns null and does nothing.
///
/// The layer above holds its source by value, and may copy it at any time. A source that can be copied has no
/// members, as CachedPages, or declares `static constexpr bool copies_are_equal = true`, as Ref, which only
/// refers to memory; any other that can be copied is a compile-time error, since its state would be lost. One
/// that has state or owns memory can be neither copied nor moved, and is passed by name or as Ref.
template <class S>
concept Source = requires(S &source, void *data, std::size_t size, std::size_t alignment) {
    { source.try_allocate(size, alignment) } noexcept -> std::same_as<void *>;
    { source.deallocate(data, size, alignment) } noexcept -> std::same_as<void>;
};

/// Whether copies of a source serve and free the same memory.
template <class S>
inline constexpr bool copies_are_equal = [] {
    if constexpr (requires { S::copies_are_equal; })
        return S::copies_are_equal;
    else
        return std::is_empty_v<S>;
}();

namespace detail {
template <Source S>
struct HeldSource {
    static_assert(
        copies_are_equal<S> || !std::copy_constructible<S>,
        "the state of this source would be lost in a copy of it: pass it by name or as reap::Ref, or "
        "delete its copy constructor; if it only refers to memory, declare in it "
        "'static constexpr bool copies_are_equal = true'");
    using Type = S;
};
} // namespace detail

/// A source as a layer holds it.
template <Source S>
using HeldCopy = typename detail::HeldSource<S>::Type;

/// Can tell its own memory: `owns(address)`, for addresses in memory that it allocated. The result for free
/// memory is unspecified.
template <class S>
concept OwningSource = Source<S> && requires(const S &source, const void *address) {
    { source.owns(address) } noexcept -> std::same_as<bool>;
};

template <class S>
concept ThrowingSource = Source<S> && requires(S &source, std::size_t size) {
    { source.allocate(size, size) } -> std::same_as<void *>;
};

template <class S>
concept AtLeastSource = Source<S> && requires(S &source, std::size_t size) {
    { source.try_allocate_at_least(size, size) } noexcept -> std::same_as<Allocation>;
};

template <class S>
concept CachingSource = Source<S> && requires(S &source, std::size_t size) {
    { source.try_allocate_cached(size, size) } noexcept -> std::same_as<Allocation>;
};

/// Supports unsized deallocation: `deallocate(data)`.
template <class S>
concept UnsizedSource = Source<S> && requires(S &source, void *data) {
    { source.deallocate(data) } noexcept -> std::same_as<void>;
};

/// Resizes memory, contents included, at less cost than a copy.
template <class S>
concept ResizingSource = Source<S> && requires(S &source, void *data, std::size_t size) {
    { source.try_resize(data, size, size, size) } noexcept -> std::same_as<void *>;
};

/// Allocates from a source, which fails as F says: by its own exception, if it has one.
template <Failure F, Source S>
[[nodiscard]] void *obtain(S &source, std::size_t size,
                           std::size_t alignment) noexcept(F == Failure::returns_null) {
    if constexpr (F == Failure::throws && ThrowingSource<S>) {
        return source.allocate(size, alignment);
    } else {
        void *const data = source.try_allocate(size, alignment);
        return data != nullptr ? data : fail<F>();
    }
}

/// The same with usable size.
template <Failure F, Source S>
[[nodiscard, gnu::always_inline]] inline Allocation
obtain_at_least(S &source, std::size_t size, std::size_t alignment) noexcept(F == Failure::returns_null) {
    if constexpr (AtLeastSource<S>) {
        if (const Allocation got = source.try_allocate_at_least(size, alignment); got.data != nullptr)
            return got;
    }
    return {obtain<F>(source, size, alignment), size};
}

/// A reference to a source owned elsewhere, which must outlive the layer.
template <Source S>
class Ref {
  public:
    static constexpr bool copies_are_equal = true;

    // Not explicit: a layer over a named source is written `Region region{source}`.
    Ref(S &source) noexcept : source_(&source) {}

    [[nodiscard]] void *try_allocate(std::size_t size, std::size_t alignment) noexcept {
        return source_->try_allocate(size, alignment);
    }
    [[nodiscard]] void *allocate(std::size_t size, std::size_t alignment)
        requires ThrowingSource<S>
    {
        return source_->allocate(size, alignment);
    }
    [[nodiscard]] Allocation try_allocate_at_least(std::size_t size, std::size_t alignment) noexcept
        requires AtLeastSource<S>
    {
        return source_->try_allocate_at_least(size, alignment);
    }
    [[nodiscard]] Allocation try_allocate_cached(std::size_t size, std::size_t alignment) noexcept
        requires CachingSource<S>
    {
        return source_->try_allocate_cached(size, alignment);
    }
    void deallocate(void *data, std::size_t size, std::size_t alignment) noexcept {
        source_->deallocate(data, size, alignment);
    }
    void deallocate(void *data) noexcept
        requires UnsizedSource<S>
    {
        source_->deallocate(data);
    }
    [[nodiscard]] void *try_resize(void *data, std::size_t size, std::size_t new_size,
                                   std::size_t alignment) noexcept
        requires ResizingSource<S>
    {
        return source_->try_resize(data, size, new_size, alignment);
    }
    [[nodiscard]] bool owns(const void *address) const noexcept
        requires OwningSource<S>
    {
        return source_->owns(address);
    }
    [[nodiscard]] S &get() const noexcept { return *source_; }
    /// The same source object, not an equal one.
    friend bool operator==(Ref, Ref) noexcept = default;

  private:
    S *source_;
};

/// How a layer refers to a source that has a name, or that another layer holds: by a copy where copies are
/// equal, otherwise by Ref.
template <Source S>
using Shared = std::conditional_t<std::copy_constructible<S> && copies_are_equal<S>, S, Ref<S>>;

} // namespace reap::inline REAP_MODE
