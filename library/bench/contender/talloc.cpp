#include <cstddef>

#include <talloc.h>

#include "../registry.h"

namespace {

/// Objects are the children of one context. Pool: the context brings a block that they are carved from first;
/// it must be given a size, and gets what the workload allocates, with room for talloc's header in front of
/// each object.
template <bool Pool>
class Talloc {
  public:
    static constexpr bool frees_all = true;

    explicit Talloc(std::size_t bytes)
        : context_(Pool ? talloc_pool(nullptr, 4 * bytes) : talloc_new(nullptr)) {}
    ~Talloc() { talloc_free(context_); }
    Talloc(const Talloc &) = delete;
    Talloc &operator=(const Talloc &) = delete;

    void *allocate(std::size_t size) { return talloc_size(context_, size); }
    void free_one(void *object, std::size_t /*size*/) { talloc_free(object); }
    void free_all() { talloc_free_children(context_); }
    void *grow_last(void *object, std::size_t /*size*/, std::size_t larger) {
        return talloc_realloc_size(context_, object, larger);
    }

  private:
    void *context_;
};

const bool known = bench::add<Talloc<false>>("talloc") && bench::add<Talloc<true>>("talloc pool");

} // namespace
