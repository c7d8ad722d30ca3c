#include <cstddef>
#include <memory_resource>

#include "../registry.h"

namespace {

/// Through the resource's own type, so that the compiler may look into what it can see.
template <class Resource>
class Pmr {
  public:
    static constexpr bool frees_all = true;

    explicit Pmr(std::size_t /*bytes*/) {}

    void *allocate(std::size_t size) { return resource_.allocate(size, 16); }
    void free_one(void *object, std::size_t size) { resource_.deallocate(object, size, 16); }
    void free_all() { resource_.release(); }
    void *grow_last(void *object, std::size_t size, std::size_t larger) {
        return bench::allocate_copy_free(*this, object, size, larger);
    }

  private:
    Resource resource_;
};

const bool known = bench::add<Pmr<std::pmr::monotonic_buffer_resource>>("pmr monotonic") &&
                   bench::add<Pmr<std::pmr::unsynchronized_pool_resource>>("pmr pool");

} // namespace
