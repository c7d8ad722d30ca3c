#include <cstddef>

#include "reap/layer/reap.h"

#include "../registry.h"

namespace {

template <class Reap>
class Ours {
  public:
    static constexpr bool frees_all = true;

    explicit Ours(std::size_t /*bytes*/) {}
    // Inlined as the reap's own is, which a user holds without an adapter around it.
    [[gnu::always_inline]] ~Ours() {}
    Ours(const Ours &) = delete;
    Ours &operator=(const Ours &) = delete;

    void *allocate(std::size_t size) { return reap_.allocate(size); }
    void free_one(void *object, std::size_t size) {
        if constexpr (sized)
            reap_.deallocate(object, size);
        else
            reap_.deallocate(object);
    }
    void free_all() { reap_.reset(); }
    void *grow_last(void *object, std::size_t size, std::size_t larger) {
        if constexpr (sized) {
            if (reap_.resize(object, size, larger)) return object;
            return bench::allocate_copy_free(*this, object, size, larger);
        } else {
            return reap_.reallocate(object, larger);
        }
    }

  private:
    static constexpr bool sized = !requires(Reap reap, void *object) { reap.deallocate(object); };

    Reap reap_;
};

const bool known = bench::add<Ours<reap::Reap<>>>("Reap") &&
                   bench::add<Ours<reap::SizedReap<>>>("SizedReap") &&
                   bench::add<Ours<reap::Reap<reap::CachedSuperblocks, 16>>>("Reap, 16 B");

} // namespace
