#include <cstddef>

#include "reap/layer/region.h"

#include "../registry.h"

namespace {

template <class Region>
class Ours {
  public:
    static constexpr bool frees_all = true;

    explicit Ours(std::size_t /*bytes*/) {}
    // Inlined as the region's own is, which a user holds without an adapter around it.
    [[gnu::always_inline]] ~Ours() {}
    Ours(const Ours &) = delete;
    Ours &operator=(const Ours &) = delete;

    void *allocate(std::size_t size) { return region_.allocate(size); }
    void free_one(void *object, std::size_t size) { region_.deallocate(object, size); }
    void free_all() { region_.reset(); }
    void *grow_last(void *object, std::size_t size, std::size_t larger) {
        if (region_.resize(object, size, larger)) return object;
        return bench::allocate_copy_free(*this, object, size, larger);
    }

  private:
    Region region_;
};

const bool known = bench::add<Ours<reap::Region<>>>("Region") &&
                   bench::add<Ours<reap::Region<reap::CachedPages, 8>>>("Region, 8 B");

} // namespace
