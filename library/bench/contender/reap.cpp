#include <cstddef>

#include "reap/layer/reap.h"

#include "../registry.h"

namespace {

/// Whether objects are freed with their sizes.
enum class Told : bool { no, yes };

template <class Reap, Told Sized>
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
        if constexpr (Sized == Told::yes)
            reap_.deallocate(object, size);
        else
            reap_.deallocate(object);
    }
    void free_all() { reap_.reset(); }
    void *grow_last(void *object, std::size_t /*size*/, std::size_t larger) {
        return reap_.reallocate(object, larger);
    }

  private:
    Reap reap_;
};

const bool known = bench::add<Ours<reap::Reap<>, Told::no>>("Reap") &&
                   bench::add<Ours<reap::Reap<>, Told::yes>>("Reap, sized") &&
                   bench::add<Ours<reap::Reap<reap::CachedSuperblocks, 16>, Told::no>>("Reap, 16 B");

} // namespace
