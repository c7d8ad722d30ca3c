#pragma once

#include <cstddef>
#include <memory_resource>
#include <utility>

#include "reap/core/failure.h"
#include "reap/core/mode.h"
#include "reap/core/source.h"
#include "reap/core/typed.h"
#include "reap/layer/region.h"

// Layers for code that takes a std::pmr::memory_resource.

namespace reap::inline REAP_MODE {

namespace detail {

/// How allocate_at_least() finds the layer behind a resource of which it has only the
/// std::pmr::memory_resource.
class AtLeastResource : public std::pmr::memory_resource {
  public:
    [[nodiscard]] virtual Allocation allocate_at_least(std::size_t size, std::size_t alignment) = 0;
};

/// The resource of ours that this thread last asked whether it is equal to null_memory_resource(): how a
/// PmrResource answers allocate_at_least() that it is one.
///
/// A variable, because is_equal() has no room for the answer: its signature is the standard's, its result
/// must stay false, and its argument may reach resources of others, which know null_memory_resource() but no
/// class of ours. One of each thread, because two threads may ask at the same time. It is valid only between
/// the question and the comparison with the resource that was asked, so it never dangles.
inline constinit thread_local AtLeastResource *asked = nullptr;

/// The layer itself, where it is owned elsewhere.
template <class Layer>
[[nodiscard]] Layer &referred(Layer &layer) noexcept {
    return layer;
}
template <Source S>
[[nodiscard]] S &referred(Ref<S> &layer) noexcept {
    return layer.get();
}

} // namespace detail

/// A layer, or any source, as a std::pmr::memory_resource. `PmrResource<> resource;` is a region.
///
/// It adds nothing: no lock, no size class, no recycling. Memory that the layer frees only at a reset stays
/// until then, even if a container has freed it. It can be neither copied nor moved, since containers keep
/// its address. It must outlive them, and the layer must not be reset while they live.
///
/// It owns a layer, made from the arguments, or refers to one: `PmrResource resource{region};`. Two are equal
/// if they are the same object. A size of 0 returns a pointer that may be freed. The layer's own exceptions
/// propagate, as std::bad_alloc does. Thread-safe if the layer is. Costs the virtual call.
template <Source Layer = Region<>>
class PmrResource final : public detail::AtLeastResource {
  public:
    PmrResource()
        requires std::default_initializable<Layer>
    = default;
    template <class... Arguments>
        requires std::constructible_from<Layer, Arguments...>
    explicit PmrResource(Arguments &&...arguments) : layer_(std::forward<Arguments>(arguments)...) {}
    PmrResource(const PmrResource &) = delete;
    PmrResource &operator=(const PmrResource &) = delete;
    ~PmrResource() override = default;

    /// The layer, to reset or to query; a Ref where it is owned elsewhere.
    [[nodiscard]] Layer &layer() noexcept { return layer_; }
    [[nodiscard]] const Layer &layer() const noexcept { return layer_; }

    /// Memory with its usable size. It is freed with the requested size, the returned size, or any between.
    /// Throws as allocate().
    [[nodiscard]] Allocation allocate_at_least(std::size_t size,
                                               std::size_t alignment = alignof(std::max_align_t)) override {
        return obtain_at_least<Failure::throws>(layer_, size, alignment);
    }

    /// Constructs a T by the layer's create(), with this resource as its allocator where T's allocator_type
    /// is one that a pointer to a resource converts to (std::pmr::polymorphic_allocator), unless the
    /// arguments name an allocator. T's destructor frees through this resource: a resource that refers to a
    /// layer must live until the layer has run it.
    template <class T, class... Arguments>
    [[nodiscard]] T *create(Arguments &&...arguments) {
        return detail::with_allocator<T>(
            static_cast<std::pmr::memory_resource *>(this),
            [this](auto &&...all) {
                return detail::referred(layer_).template create<T>(std::forward<decltype(all)>(all)...);
            },
            std::forward<Arguments>(arguments)...);
    }
    /// The same for an array, by the layer's create_array().
    template <class T, class... Arguments>
    [[nodiscard]] T *create_array(std::size_t count, Arguments &&...arguments) {
        return detail::with_allocator<T>(
            static_cast<std::pmr::memory_resource *>(this),
            [this, count](auto &...all) {
                return detail::referred(layer_).template create_array<T>(count, all...);
            },
            static_cast<const Arguments &>(arguments)...);
    }

  private:
    [[gnu::returns_nonnull]] void *do_allocate(std::size_t size, std::size_t alignment) override {
        return obtain<Failure::throws>(layer_, size, alignment);
    }
    void do_deallocate(void *data, std::size_t size, std::size_t alignment) override {
        layer_.deallocate(data, size, alignment);
    }
    [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override {
        if (&other == std::pmr::null_memory_resource()) detail::asked = const_cast<PmrResource *>(this);
        return &other == this;
    }

    [[no_unique_address]] Layer layer_;
};

PmrResource() -> PmrResource<>;
template <class Layer>
PmrResource(Layer &) -> PmrResource<Shared<Layer>>;

/// Memory from any resource, with its usable size: more than `size` if it is a PmrResource over a layer that
/// rounds up, otherwise exactly `size`. It is freed with the requested size, the returned size, or any
/// between. Throws what the resource throws. Costs two virtual calls.
///
/// A resource is identified by the one query that all of them answer, is_equal(). A dynamic_cast would be the
/// usual way, but ends the program when it meets a class that was built without RTTI.
[[nodiscard]] inline Allocation allocate_at_least(std::pmr::memory_resource &resource, std::size_t size,
                                                  std::size_t alignment = alignof(std::max_align_t)) {
    detail::asked = nullptr;
    if (resource.is_equal(*std::pmr::null_memory_resource()))
        return {resource.allocate(size, alignment), size};
    // Not a resource to which a wrapper forwarded the query.
    if (detail::asked == &resource) return detail::asked->allocate_at_least(size, alignment);
    return {resource.allocate(size, alignment), size};
}

} // namespace reap::inline REAP_MODE
