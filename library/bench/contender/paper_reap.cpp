#include "paper_reap.h"

#include <cstddef>

#include "../registry.h"

namespace {

class PaperReap {
  public:
    static constexpr bool frees_all = true;

    explicit PaperReap(std::size_t /*bytes*/) {}

    void *allocate(std::size_t size) { return reap_.allocate(size); }
    void free_one(void *object, std::size_t /*size*/) { reap_.deallocate(object); }
    void free_all() { reap_.reset(); }
    void *grow_last(void *object, std::size_t size, std::size_t larger) {
        return bench::allocate_copy_free(*this, object, size, larger);
    }

  private:
    bench::paper::Reap<> reap_;
};

const bool known = bench::add<PaperReap>("OOPSLA reap");

} // namespace
