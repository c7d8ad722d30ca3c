#pragma once

#include <concepts>
#include <cstddef>
#include <utility>

#include "reap/core/failure.h"
#include "reap/core/mode.h"

// The one contract that everything here is built on. What pages come from is a source; a layer that hands out
// memory of any size is a source as well, so layers stand on layers, and a composition is read base first:
//
//   reap::SystemPages                       the system's pages
//   reap::ChunkCache<SystemPages>           the same, with a few kept for the next to ask
//   reap::Region<ChunkCache<SystemPages>>   objects, bumped out of chunks of these
//
// The idea that layers compose as types is Heap Layers' (Berger, Zorn, McKinley, PLDI 2001).

namespace reap::inline REAP_MODE {

/// Memory that was handed out, with all the bytes that may be used: at least what was asked for.
struct Allocation {
    void *data = nullptr;
    std::size_t size = 0;
};

/// What hands out memory and takes it back.
///
/// `try_allocate(size, alignment)` returns memory for any size (0 counts as 1) at any power of two, or null:
/// the alignment is none, the memory is exhausted. It never throws. `deallocate(data, size, alignment)` takes
/// back what was allocated, told its size and alignment again. Null is not given to it.
///
/// A source may have more, which is used where it is there:
/// `allocate(size, alignment)` that throws its own exception instead of returning null;
/// `try_allocate_at_least(size, alignment)`, an Allocation that may be larger than asked for. Such memory is
/// given back with the size that was asked for, the size that was returned, or any between.
/// `deallocate(data)`, which needs not be told.
/// `try_resize(data, size, new_size, alignment)`, which makes memory larger or smaller where it stands or
/// elsewhere, with what is in it, or returns null and does nothing.
///
/// A source is held by value in the layer above it. One with no state, or that only refers to its memory
/// (Ref, CachedPages), can be copied, and copies are equal; one that owns its memory can be neither copied
/// nor moved, and is shared through Ref.
template <class S>
concept Source = requires(S &source, void *data, std::size_t size, std::size_t alignment) {
    { source.try_allocate(size, alignment) } noexcept -> std::same_as<void *>;
    { source.deallocate(data, size, alignment) } noexcept -> std::same_as<void>;
};

/// Knows what is its own: `owns(address)`, for addresses in memory that it handed out. What it says of memory
/// that is free is up to it.
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

/// Knows the size of what it takes back: `deallocate(data)`.
template <class S>
concept UnsizedSource = Source<S> && requires(S &source, void *data) {
    { source.deallocate(data) } noexcept -> std::same_as<void>;
};

/// Makes memory larger or smaller with what is in it, at less cost than a copy.
template <class S>
concept ResizingSource = Source<S> && requires(S &source, void *data, std::size_t size) {
    { source.try_resize(data, size, size, size) } noexcept -> std::same_as<void *>;
};

/// Asks a source, which fails as F says: by its own exception, if it has one.
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

/// The same for memory of which all may be used.
template <Failure F, Source S>
[[nodiscard, gnu::always_inline]] inline Allocation
obtain_at_least(S &source, std::size_t size, std::size_t alignment) noexcept(F == Failure::returns_null) {
    if constexpr (AtLeastSource<S>) {
        if (const Allocation got = source.try_allocate_at_least(size, alignment); got.data != nullptr)
            return got;
    }
    return {obtain<F>(source, size, alignment), size};
}

/// A source that is somebody else's: the layer refers to it, and it outlives the layer.
template <Source S>
class Ref {
  public:
    // Not explicit: a layer that is made over a named source is written `Region region{source}`.
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
    /// The same source, not one like it.
    friend bool operator==(Ref, Ref) noexcept = default;

  private:
    S *source_;
};

/// How a layer made inside another refers to that one's source: by a copy where copies are equal, else by
/// Ref.
template <Source S>
using Shared = std::conditional_t<std::copy_constructible<S>, S, Ref<S>>;

} // namespace reap::inline REAP_MODE
