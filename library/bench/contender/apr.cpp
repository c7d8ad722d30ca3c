#include <cstddef>

#include <apr_general.h>
#include <apr_pools.h>

#include "../registry.h"

namespace {

/// A pool below one parent, as servers have one below the connection's for each request.
class AprPool {
  public:
    static constexpr bool frees_all = true;

    explicit AprPool(std::size_t /*bytes*/) { apr_pool_create(&pool_, parent()); }
    ~AprPool() { apr_pool_destroy(pool_); }
    AprPool(const AprPool &) = delete;
    AprPool &operator=(const AprPool &) = delete;

    void *allocate(std::size_t size) { return apr_palloc(pool_, size); }
    void free_one(void * /*object*/, std::size_t /*size*/) {}
    void free_all() { apr_pool_clear(pool_); }
    void *grow_last(void *object, std::size_t size, std::size_t larger) {
        return bench::allocate_copy_free(*this, object, size, larger);
    }

  private:
    static apr_pool_t *parent() {
        static apr_pool_t *const pool = [] {
            apr_initialize();
            apr_pool_t *made = nullptr;
            apr_pool_create(&made, nullptr);
            return made;
        }();
        return pool;
    }

    apr_pool_t *pool_ = nullptr;
};

const bool known = bench::add<AprPool>("apr pool");

} // namespace
