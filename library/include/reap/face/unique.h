#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "reap/core/failure.h"
#include "reap/core/mode.h"
#include "reap/core/source.h"
#include "reap/core/typed.h"

// Objects in layers that a std::unique_ptr owns.

namespace reap::inline REAP_MODE {

/// Destroys an object and frees its memory in its layer, which must outlive it. Costs what the layer's
/// deallocate() costs. With a layer that frees no single objects, such as a Region, only the destructor runs.
template <class T, Source Layer>
class Deleter {
  public:
    /// For a null pointer.
    constexpr Deleter() noexcept = default;
    explicit Deleter(Layer &layer) noexcept : layer_(&layer) {}

    void operator()(T *object) const noexcept {
        std::destroy_at(object);
        layer_->deallocate(static_cast<void *>(object), sizeof(T), alignof(T));
    }

  private:
    Layer *layer_ = nullptr;
};

/// The same for an array, last element first. Stores the number of elements.
template <class T, Source Layer>
class Deleter<T[], Layer> {
  public:
    constexpr Deleter() noexcept = default;
    Deleter(Layer &layer, std::size_t count) noexcept : layer_(&layer), count_(count) {}

    void operator()(T *first) const noexcept {
        detail::destroy_elements(first, count_);
        layer_->deallocate(static_cast<void *>(first), count_ * sizeof(T), alignof(T));
    }
    [[nodiscard]] std::size_t count() const noexcept { return count_; }

  private:
    Layer *layer_ = nullptr;
    std::size_t count_ = 0;
};

/// Owns an object in a layer. The size of two pointers; for an array, of three.
template <class T, Source Layer>
using UniquePtr = std::unique_ptr<T, Deleter<T, Layer>>;

/// Makes a T in a layer. Throws what the layer or T's constructor throws; then nothing is leaked. If the
/// layer converts to T's allocator_type (StlAllocator), T gets it as its allocator unless the arguments name
/// one; so does each element of an array.
template <class T, Source Layer, class... Arguments>
    requires(!std::is_array_v<T>)
[[nodiscard]] UniquePtr<T, Layer> make_unique(Layer &layer, Arguments &&...arguments) {
    detail::Unowned<Layer> memory{layer, obtain<Failure::throws>(layer, sizeof(T), alignof(T)), sizeof(T),
                                  alignof(T)};
    T *const object = detail::construct<T>(layer, memory.data, std::forward<Arguments>(arguments)...);
    memory.data = nullptr;
    return UniquePtr<T, Layer>(object, Deleter<T, Layer>(layer));
}

/// Makes `count` value-initialized elements: make_unique<int[]>(region, 10). Throws std::bad_array_new_length
/// for more elements than any array can have, and as above; the elements made so far are then destroyed.
template <class Array, Source Layer>
    requires std::is_unbounded_array_v<Array>
[[nodiscard]] UniquePtr<Array, Layer> make_unique(Layer &layer, std::size_t count) {
    using T = std::remove_extent_t<Array>;
    const std::size_t size = detail::bytes_of_array<T>(count);
    detail::Unowned<Layer> memory{layer, obtain<Failure::throws>(layer, size, alignof(T)), size, alignof(T)};
    T *const first = detail::construct_array<T>(layer, memory.data, count);
    memory.data = nullptr;
    return UniquePtr<Array, Layer>(first, Deleter<Array, Layer>(layer, count));
}

} // namespace reap::inline REAP_MODE
