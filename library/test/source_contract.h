#pragma once

#include <concepts>
#include <cstddef>

#include "reap/core/failure.h"
#include "reap/core/size.h"
#include "reap/core/source.h"

// What every source is held to, whatever it is made of. All of it is compiled once: it does not know their
// types.

/// Refers to a source of any type. Where that has no allocate(), or cannot say how much it gives, or what it
/// owns, it is made up for.
class AnySource {
  public:
    template <class S>
        requires(!std::same_as<S, AnySource>)
    AnySource(S &source) noexcept : source_(&source), calls_(&calls_of<S>) {}

    [[nodiscard]] void *allocate(std::size_t size, std::size_t alignment) {
        return calls_->allocate(source_, size, alignment);
    }
    [[nodiscard]] void *try_allocate(std::size_t size, std::size_t alignment) noexcept {
        return calls_->try_allocate(source_, size, alignment);
    }
    [[nodiscard]] reap::Allocation try_allocate_at_least(std::size_t size, std::size_t alignment) noexcept {
        return calls_->try_allocate_at_least(source_, size, alignment);
    }
    void deallocate(void *data, std::size_t size, std::size_t alignment) noexcept {
        calls_->deallocate(source_, data, size, alignment);
    }
    [[nodiscard]] bool may_own(const void *address) const { return calls_->may_own(source_, address); }

  private:
    struct Calls {
        void *(*allocate)(void *, std::size_t, std::size_t);
        void *(*try_allocate)(void *, std::size_t, std::size_t) noexcept;
        reap::Allocation (*try_allocate_at_least)(void *, std::size_t, std::size_t) noexcept;
        void (*deallocate)(void *, void *, std::size_t, std::size_t) noexcept;
        bool (*may_own)(void *, const void *);
    };
    template <reap::Source S>
    static constexpr Calls calls_of{
        [](void *source, std::size_t size, std::size_t alignment) {
            return reap::obtain<reap::Failure::throws>(*static_cast<S *>(source), size, alignment);
        },
        [](void *source, std::size_t size, std::size_t alignment) noexcept {
            // NOLINTNEXTLINE(readability-static-accessed-through-instance)
            return static_cast<S *>(source)->try_allocate(size, alignment);
        },
        [](void *source, std::size_t size, std::size_t alignment) noexcept {
            return reap::obtain_at_least<reap::Failure::returns_null>(*static_cast<S *>(source), size,
                                                                      alignment);
        },
        [](void *source, void *data, std::size_t size, std::size_t alignment) noexcept {
            // NOLINTNEXTLINE(readability-static-accessed-through-instance)
            static_cast<S *>(source)->deallocate(data, size, alignment);
        },
        [](void *source, const void *address) {
            if constexpr (reap::OwningSource<S>) return static_cast<S *>(source)->owns(address);
            return true;
        }};

    void *source_;
    const Calls *calls_;
};

/// One request, written to from end to end and freed.
bool serves(AnySource source, std::size_t size, std::size_t alignment);
/// Sizes at every boundary up to `largest`, at alignments of up to `most`: all are served. What cannot be is
/// refused, and changes nothing.
void expect_boundaries(AnySource source, std::size_t largest, std::size_t most);
/// Memory from at_least may all be used, and comes back with any size that it may come back with.
void expect_at_least(AnySource source, std::size_t largest);
/// Objects that live at the same time do not overlap, freed in any order; a seed makes it the same each time.
void expect_separate(AnySource source, unsigned seed);
/// A region stands on it: objects small and large, rewound, reset.
void expect_region(AnySource source, std::size_t bytes);
