#pragma once

#include <cstddef>
#include <new>
#include <tuple> // has std::uses_allocator, and compiles in a fifth of the time of <memory>
#include <type_traits>
#include <utility>

#include "reap/core/annotate.h"
#include "reap/core/failure.h"
#include "reap/core/mode.h"
#include "reap/core/size.h"
#include "reap/core/source.h"

// Memory for objects of a type, and the construction of objects and arrays that all layers share.

namespace reap::inline REAP_MODE {

namespace detail {
/// The size of an array in bytes. Throws std::bad_array_new_length for more elements than any array can have.
template <class T>
[[nodiscard]] inline std::size_t bytes_of_array(std::size_t count) {
    if (count > max_object / sizeof(T)) [[unlikely]]
        throw_bad_array_new_length();
    return count * sizeof(T);
}
} // namespace detail

/// Uninitialized memory for `count` objects of T from any layer or source, aligned for T. A count of 0 gives
/// a unique address. Throws std::bad_array_new_length for more elements than any array can have, otherwise
/// what the layer throws.
template <class T, Source Layer>
[[nodiscard, gnu::returns_nonnull]] T *allocate(Layer &layer, std::size_t count) {
    return static_cast<T *>(obtain<Failure::throws>(layer, detail::bytes_of_array<T>(count), alignof(T)));
}

/// The same, but returns null on failure.
template <class T, Source Layer>
[[nodiscard]] T *try_allocate(Layer &layer, std::size_t count) noexcept {
    if (count > max_object / sizeof(T)) [[unlikely]]
        return nullptr;
    return static_cast<T *>(layer.try_allocate(count * sizeof(T), alignof(T)));
}

/// Frees such memory; type and count must be those of the allocation. T is never deduced from the pointer,
/// which may be one to a base. Null is ignored.
template <class T, Source Layer>
void deallocate(Layer &layer, std::type_identity_t<T> *data, std::size_t count) noexcept {
    if (data != nullptr) layer.deallocate(static_cast<void *>(data), count * sizeof(T), alignof(T));
}

template <class Layer>
class ArrayMembers;

/// What layers have for memory of a type: their base class.
template <class Layer>
class TypedMembers {
  public:
    /// Uninitialized memory for `count` objects of T, aligned for T; freed with the same T and count. Throws
    /// std::bad_array_new_length for more elements than any array can have, otherwise as allocate(size).
    template <class T>
    [[nodiscard, gnu::returns_nonnull]] T *allocate(std::size_t count) {
        return reap::allocate<T>(layer(), count);
    }
    /// The same, but returns null on failure.
    template <class T>
    [[nodiscard]] T *try_allocate(std::size_t count) noexcept {
        return reap::try_allocate<T>(layer(), count);
    }
    /// Frees such memory. Null is ignored.
    template <class T>
    void deallocate(std::type_identity_t<T> *data, std::size_t count) noexcept {
        reap::deallocate<T>(layer(), data, count);
    }

  private:
    friend Layer;
    friend ArrayMembers<Layer>;
    TypedMembers() = default;
    [[nodiscard]] Layer &layer() noexcept { return static_cast<Layer &>(*this); }
};

namespace detail {

/// Which constructor argument is the allocator.
enum class AllocatorArgument { none, first, last };

/// Where T's constructor takes, beside `Arguments`, an allocator that Origin converts to: a reference to a
/// layer, or a pointer to a memory resource. None if one of the arguments converts to that allocator as well,
/// or is std::allocator_arg: then the caller has chosen. Unlike with std::make_obj_using_allocator(), a T
/// without such a constructor is not an error, and pairs are not handled specially.
template <class T, class Origin, class... Arguments>
[[nodiscard]] consteval AllocatorArgument allocator_argument() {
    if constexpr (requires { typename T::allocator_type; }) {
        using Allocator = typename T::allocator_type;
        constexpr bool is_chosen = ((std::is_convertible_v<Arguments, Allocator> ||
                                     std::is_same_v<std::remove_cvref_t<Arguments>, std::allocator_arg_t>) ||
                                    ...);
        if constexpr (!is_chosen && std::is_convertible_v<Origin, Allocator> &&
                      std::uses_allocator_v<T, Allocator>) {
            if constexpr (std::is_constructible_v<T, std::allocator_arg_t, const Allocator &, Arguments...>)
                return AllocatorArgument::first;
            else if constexpr (std::is_constructible_v<T, Arguments..., const Allocator &>)
                return AllocatorArgument::last;
        }
    }
    return AllocatorArgument::none;
}

/// Calls `make` with the arguments of T's constructor, including the allocator if T takes one.
template <class T, class Origin, class Make, class... Arguments>
[[gnu::always_inline]] inline decltype(auto) with_allocator(Origin &&origin, Make make,
                                                            Arguments &&...arguments) {
    constexpr AllocatorArgument at = allocator_argument<T, Origin, Arguments...>();
    if constexpr (at == AllocatorArgument::none) {
        return make(std::forward<Arguments>(arguments)...);
    } else {
        const typename T::allocator_type allocator = std::forward<Origin>(origin);
        if constexpr (at == AllocatorArgument::first)
            return make(std::allocator_arg_t{}, allocator, std::forward<Arguments>(arguments)...);
        else
            return make(std::forward<Arguments>(arguments)..., allocator);
    }
}

/// Whether with_allocator() is noexcept when it constructs a T.
template <class T, class Origin, class... Arguments>
[[nodiscard]] consteval bool is_nothrow_with_allocator() {
    constexpr AllocatorArgument at = allocator_argument<T, Origin, Arguments...>();
    if constexpr (at == AllocatorArgument::none) {
        return std::is_nothrow_constructible_v<T, Arguments...>;
    } else {
        using Allocator = typename T::allocator_type;
        if constexpr (!std::is_nothrow_convertible_v<Origin, Allocator>)
            return false;
        else if constexpr (at == AllocatorArgument::first)
            return std::is_nothrow_constructible_v<T, std::allocator_arg_t, const Allocator &, Arguments...>;
        else
            return std::is_nothrow_constructible_v<T, Arguments..., const Allocator &>;
    }
}

/// The allocator that a layer for one type passes to its objects: its source. For a Ref, the referenced
/// source; for an Upstream, its memory resource.
template <class S>
[[nodiscard]] constexpr decltype(auto) origin_of(S &source) noexcept {
    if constexpr (requires { source.get(); })
        return origin_of(source.get());
    else if constexpr (requires { source.resource(); })
        return source.resource();
    else
        return *__builtin_addressof(source);
}
template <class S>
using OriginOf = decltype(origin_of(std::declval<S &>()));

/// Constructs a T in memory of a layer that serves one type and has a source.
template <class T, class S, class... Arguments>
[[gnu::always_inline]] inline T *construct_over(S &source, void *place, Arguments &&...arguments) {
    return with_allocator<T>(
        origin_of(source),
        [place](auto &&...all) { return ::new (place) T(std::forward<decltype(all)>(all)...); },
        std::forward<Arguments>(arguments)...);
}

template <class T, class Layer, class... Arguments>
T *construct_array(Layer &layer, void *place, std::size_t count, Arguments &...arguments);

/// Constructs a T in memory of a layer. Uses-allocator construction where a reference to the layer converts
/// to T's allocator_type, such as StlAllocator. For an array, each element from the arguments.
template <class T, class Layer, class... Arguments>
[[gnu::always_inline]] inline T *construct(Layer &layer, void *place, Arguments &&...arguments) {
    if constexpr (std::is_array_v<T>) {
        // Element by element: for an array written as T(arguments...), clang 19 writes beyond its end if
        // there are no arguments.
        construct_array<std::remove_extent_t<T>>(layer, place, std::extent_v<T>, arguments...);
        return static_cast<T *>(place);
    } else {
        return with_allocator<T>(
            layer, [place](auto &&...all) { return ::new (place) T(std::forward<decltype(all)>(all)...); },
            std::forward<Arguments>(arguments)...);
    }
}

/// Last element first, as delete[] does.
template <class T>
void destroy_elements(T *first, std::size_t count) noexcept {
    for (; count > 0; --count) {
        T &last = first[count - 1];
        if constexpr (std::is_array_v<T>)
            destroy_elements(last, std::extent_v<T>);
        else
            last.~T();
    }
}

/// Constructs an array, each element from the same arguments. If a constructor throws, the elements
/// constructed so far are destroyed.
template <class T, class Layer, class... Arguments>
T *construct_array(Layer &layer, void *place, std::size_t count, Arguments &...arguments) {
    struct Unfinished {
        T *first;
        std::size_t made = 0;
        ~Unfinished() { destroy_elements(first, made); }
    };
    Unfinished array{static_cast<T *>(place)};
    for (; array.made < count; ++array.made) construct<T>(layer, array.first + array.made, arguments...);
    array.made = 0;
    return array.first;
}

/// Memory of a layer, freed unless the construction of its object completes.
template <class Layer>
struct Unowned {
    Layer &layer;
    void *data;
    std::size_t size;
    std::size_t alignment;
    ~Unowned() {
        if (data != nullptr) layer.deallocate(data, size, alignment);
    }
};

/// The block of an object in a layer that destroys it by the object's address, which is the block's.
/// `Cleanup` is an entry of the layer's list.
template <class T>
struct PlainNode {
    alignas(T) std::byte storage[sizeof(T)];
};
template <class T, class Cleanup>
struct CleanupNode {
    alignas(T) std::byte storage[sizeof(T)];
    Cleanup cleanup;
    [[nodiscard]] static T *object_of(Cleanup *cleanup) noexcept {
        return std::launder(
            reinterpret_cast<T *>(reinterpret_cast<std::byte *>(cleanup) - offsetof(CleanupNode, cleanup)));
    }
};
template <class T, class Cleanup>
using NodeOf = std::conditional_t<std::is_trivially_destructible_v<T>, PlainNode<T>, CleanupNode<T, Cleanup>>;

/// What a layer stores with an array whose elements it destroys: `Cleanup` is an entry of its list.
template <class T, class Cleanup>
struct ArrayRecord : Cleanup {
    T *first;
    std::size_t count;

    ArrayRecord(T *array, std::size_t elements) noexcept : first(array), count(elements) {
        this->run = [](Cleanup *self) {
            auto *const record = static_cast<ArrayRecord *>(self);
            destroy_elements(record->first, record->count);
        };
    }
};

/// The block of an array in a layer that frees it by the address of the first element: the elements, followed
/// by the record, if there is one.
template <class T, class Cleanup>
struct ArrayBlock {
    using Record = ArrayRecord<T, Cleanup>;
    static constexpr bool has_record = !std::is_trivially_destructible_v<T>;
    static constexpr std::size_t alignment =
        has_record ? detail::max(alignof(T), alignof(Record)) : alignof(T);
    static constexpr std::size_t lead = 0; // of the elements

    /// For a count that bytes_of_array() accepts.
    [[nodiscard]] static constexpr std::size_t size(std::size_t count) noexcept {
        const std::size_t elements = count * sizeof(T);
        return has_record ? round_up(elements, alignof(Record)) + sizeof(Record) : elements;
    }
    [[nodiscard]] static void *place_of_record(T *first, std::size_t count) noexcept {
        return reinterpret_cast<std::byte *>(first) + size(count) - sizeof(Record);
    }
};

} // namespace detail

/// The same, and arrays whose elements the layer destroys: the base class of layers that run destructors. A
/// layer gives it, as a friend, the ArrayBlock of a type, unfinished(), handed_out() and link().
template <class Layer>
class ArrayMembers : public TypedMembers<Layer> {
  public:
    /// Makes an array of `count` elements, each from the same arguments; without any, value-initialized.
    /// Their destructors run as those of create()'s objects, the last element's first. Throws
    /// std::bad_array_new_length for more elements than any array can have, and as create(); the elements
    /// made so far are then destroyed.
    template <class T, class... Arguments>
    [[nodiscard]] T *create_array(std::size_t count, Arguments &&...arguments) {
        using Block = typename Layer::template ArrayBlock<T>;
        Layer &layer = this->layer();
        const std::size_t bytes = detail::bytes_of_array<T>(count);
        const std::size_t size = Block::size(count);
        void *const data = annotate::quietly([&] { return layer.allocate(size, Block::alignment); });
        void *const place = layer.handed_out(static_cast<std::byte *>(data) + Block::lead, bytes);
        auto memory = layer.unfinished(data, size, Block::alignment, place);
        T *const first =
            detail::construct_array<T>(layer, place, count, static_cast<const Arguments &>(arguments)...);
        memory.data = nullptr;
        if constexpr (Block::has_record)
            layer.link(::new (Block::place_of_record(first, count)) typename Block::Record(first, count),
                       data);
        return first;
    }

  private:
    friend Layer;
    ArrayMembers() = default;
};

} // namespace reap::inline REAP_MODE
