#include <cstddef>

#include "slots.h"

// rpmalloc's first-class heaps, where the library was built with them.

namespace {

struct Functions {
    void *(*acquire)();
    void (*release)(void *heap);
    void *(*allocate)(void *heap, std::size_t);
    void *(*reallocate)(void *heap, void *, std::size_t, unsigned flags);
    void (*free)(void *heap, void *);
    void (*free_all)(void *heap);
};

template <std::size_t Slot>
class RpmallocHeap {
  public:
    static constexpr bool frees_all = true;
    static constexpr std::size_t slots = 1;
    static inline Functions functions{};

    explicit RpmallocHeap(std::size_t /*bytes*/) : heap_(functions.acquire()) {}
    ~RpmallocHeap() {
        functions.free_all(heap_);
        functions.release(heap_);
    }
    RpmallocHeap(const RpmallocHeap &) = delete;
    RpmallocHeap &operator=(const RpmallocHeap &) = delete;

    void *allocate(std::size_t size) { return functions.allocate(heap_, size); }
    void free_one(void *object, std::size_t /*size*/) { functions.free(heap_, object); }
    void free_all() { functions.free_all(heap_); }
    void *grow_last(void *object, std::size_t /*size*/, std::size_t larger) {
        return functions.reallocate(heap_, object, larger, 0);
    }

  private:
    void *heap_;
};

void load(const bench::Loaded &library) {
    Functions functions{};
    bench::find(library, "rpmalloc_heap_acquire", functions.acquire);
    bench::find(library, "rpmalloc_heap_release", functions.release);
    bench::find(library, "rpmalloc_heap_alloc", functions.allocate);
    bench::find(library, "rpmalloc_heap_realloc", functions.reallocate);
    bench::find(library, "rpmalloc_heap_free", functions.free);
    bench::find(library, "rpmalloc_heap_free_all", functions.free_all);
    if (functions.acquire != nullptr) bench::take_slot<RpmallocHeap>(library.name + " heap", functions);
}

const bool known = [] {
    bench::loaders().push_back(load);
    return true;
}();

} // namespace
