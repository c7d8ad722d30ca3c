#include <cstddef>
#include <cstdlib>

#include <obstack.h>

#include "../registry.h"

#define obstack_chunk_alloc std::malloc
#define obstack_chunk_free std::free

namespace {

class GnuObstack {
  public:
    static constexpr bool frees_all = true;

    explicit GnuObstack(std::size_t /*bytes*/) {
        obstack_init(&stack_);
        bottom_ = obstack_alloc(&stack_, 0);
    }
    ~GnuObstack() { obstack_free(&stack_, nullptr); }
    GnuObstack(const GnuObstack &) = delete;
    GnuObstack &operator=(const GnuObstack &) = delete;

    void *allocate(std::size_t size) {
        if (obstack_object_size(&stack_) != 0) [[unlikely]]
            obstack_finish(&stack_);
        return obstack_alloc(&stack_, static_cast<int>(size));
    }
    void free_one(void * /*object*/, std::size_t /*size*/) {}
    void free_all() { obstack_free(&stack_, bottom_); }

    /// Only the object that is not finished yet can grow.
    void *allocate_growing(std::size_t size) {
        if (obstack_object_size(&stack_) != 0) obstack_finish(&stack_);
        obstack_blank(&stack_, static_cast<int>(size));
        return obstack_base(&stack_);
    }
    void *grow_last(void * /*object*/, std::size_t size, std::size_t larger) {
        obstack_blank(&stack_, static_cast<int>(larger - size));
        return obstack_base(&stack_);
    }

  private:
    obstack stack_{};
    void *bottom_ = nullptr;
};

const bool known = bench::add<GnuObstack>("gnu obstack");

} // namespace
