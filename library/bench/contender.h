#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstring>

// What a workload asks of a contender: a thin adapter around an allocator, as its user would hold it, nothing
// virtual.

namespace bench {

/// Constructing one creates the region, heap or pool; it is told how many bytes the workload allocates at
/// most, for those that must be given a size. Destroying it gives all back.
template <class A>
concept Contender = requires(A allocator, std::size_t size, void *object) {
    requires std::constructible_from<A, std::size_t>;
    /// For an object of `size` bytes; never null, the program has ended where an allocator has no more.
    { allocator.allocate(size) } -> std::same_as<void *>;
    /// Frees one object. Where that is impossible, nothing happens.
    allocator.free_one(object, size);
    /// Frees all objects at once, keeping what memory the allocator keeps by itself.
    allocator.free_all();
    /// False: there is no free_all() worth the name, and workloads free each object.
    { A::frees_all } -> std::convertible_to<bool>;
    /// The object that was allocated last, with 32 bytes more.
    { allocator.grow_last(object, size, size + 32) } -> std::same_as<void *>;
};

/// What its user does where an allocator cannot grow an object.
template <class A>
void *allocate_copy_free(A &allocator, void *object, std::size_t size, std::size_t larger) {
    void *const moved = allocator.allocate(larger);
    std::memcpy(moved, object, std::min(size, larger));
    allocator.free_one(object, size);
    return moved;
}

} // namespace bench
