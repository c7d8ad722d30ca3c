#pragma once

#include <concepts>
#include <cstddef>
#include <mutex>
#include <utility>

#include "reap/core/keep.h"
#include "reap/core/mode.h"

namespace reap::inline REAP_MODE {

/// A layer, or a source, for several threads: every call holds a lock.
///
/// It does not scale with threads; PerThread does. It guards calls, not objects. Use with() for operations
/// that are not here. It is a Source where the layer is one, so that unsynchronized layers of several threads
/// can stand on it: `Region<Ref<Locked<Arena<>>>>`. Costs an uncontended lock, some 20 ns, per call.
template <class Layer, class Mutex = std::mutex>
class Locked {
  public:
    /// The layer is made with these arguments.
    template <class... Arguments>
        requires std::constructible_from<Layer, Arguments...>
    constexpr explicit Locked(Arguments &&...arguments) : layer_(std::forward<Arguments>(arguments)...) {}
    Locked(const Locked &) = delete;
    Locked &operator=(const Locked &) = delete;
    ~Locked() = default;

    template <class... Arguments>
    [[nodiscard]] auto allocate(Arguments... arguments)
        requires requires(Layer &layer) { layer.allocate(arguments...); }
    {
        return with([&](Layer &layer) { return layer.allocate(arguments...); });
    }
    template <class... Arguments>
    [[nodiscard]] auto try_allocate(Arguments... arguments) noexcept
        requires requires(Layer &layer) { layer.try_allocate(arguments...); }
    {
        return with([&](Layer &layer) { return layer.try_allocate(arguments...); });
    }
    [[nodiscard]] auto try_allocate_at_least(std::size_t size, std::size_t alignment) noexcept
        requires requires(Layer &layer) { layer.try_allocate_at_least(size, alignment); }
    {
        return with([&](Layer &layer) { return layer.try_allocate_at_least(size, alignment); });
    }
    template <class Object, class... Arguments>
    void deallocate(Object *object, Arguments... arguments) noexcept
        requires requires(Layer &layer) { layer.deallocate(object, arguments...); }
    {
        with([&](Layer &layer) { layer.deallocate(object, arguments...); });
    }
    void reset(std::size_t keep = keep_all) noexcept
        requires requires(Layer &layer) { layer.reset(keep); }
    {
        with([&](Layer &layer) { layer.reset(keep); });
    }
    [[nodiscard]] bool owns(const void *address) const noexcept
        requires requires(const Layer &layer) { layer.owns(address); }
    {
        const std::scoped_lock lock(mutex_);
        return layer_.owns(address);
    }
    [[nodiscard]] auto statistics() const noexcept
        requires requires(const Layer &layer) { layer.statistics(); }
    {
        const std::scoped_lock lock(mutex_);
        return layer_.statistics();
    }

    /// Returns `use(layer)`, called under the lock: for several calls that belong together, and for the
    /// layer's other operations.
    template <class Use>
    decltype(auto) with(Use &&use) {
        const std::scoped_lock lock(mutex_);
        return std::forward<Use>(use)(layer_);
    }

  private:
    mutable Mutex mutex_;
    Layer layer_;
};

} // namespace reap::inline REAP_MODE
