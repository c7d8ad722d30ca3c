#include <cstddef>

#include "slots.h"

// mimalloc's first-class heaps, of every release that is loaded. The functions are declared here because the
// header of one release is not that of another; these few are the same in all.

namespace {

struct Functions {
    void *(*create)();
    void *(*allocate)(void *heap, std::size_t);
    void *(*reallocate)(void *heap, void *, std::size_t);
    void (*free)(void *);
    void (*destroy)(void *heap);
};

template <std::size_t Slot>
class MimallocHeap {
  public:
    static constexpr bool frees_all = true;
    static constexpr std::size_t slots = 3;
    static inline Functions functions{};

    explicit MimallocHeap(std::size_t /*bytes*/) : heap_(functions.create()) {}
    ~MimallocHeap() { functions.destroy(heap_); }
    MimallocHeap(const MimallocHeap &) = delete;
    MimallocHeap &operator=(const MimallocHeap &) = delete;

    void *allocate(std::size_t size) { return functions.allocate(heap_, size); }
    void free_one(void *object, std::size_t /*size*/) { functions.free(object); }
    /// There is no other way: a heap goes with its objects.
    void free_all() {
        functions.destroy(heap_);
        heap_ = functions.create();
    }
    void *grow_last(void *object, std::size_t /*size*/, std::size_t larger) {
        return functions.reallocate(heap_, object, larger);
    }

  private:
    void *heap_;
};

void load(const bench::Loaded &library) {
    Functions functions{};
    bench::find(library, "mi_heap_new", functions.create);
    bench::find(library, "mi_heap_malloc", functions.allocate);
    bench::find(library, "mi_heap_realloc", functions.reallocate);
    bench::find(library, "mi_free", functions.free);
    bench::find(library, "mi_heap_destroy", functions.destroy);
    if (functions.create != nullptr) bench::take_slot<MimallocHeap>(library.name + " heap", functions);
}

const bool known = [] {
    bench::loaders().push_back(load);
    return true;
}();

} // namespace
