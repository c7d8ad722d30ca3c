#include <cstddef>
#include <cstdlib>

#include "slots.h"

// malloc, free and realloc of glibc and of every library that is loaded, through pointers: what the call
// through a program's linkage table costs, and no compiler drops a malloc whose result it sees freed.

namespace {

struct Functions {
    void *(*allocate)(std::size_t);
    void (*free)(void *);
    void *(*reallocate)(void *, std::size_t);
};

template <std::size_t Slot>
class Malloc {
  public:
    static constexpr bool frees_all = false;
    static constexpr std::size_t slots = 10;
    static inline Functions functions{};

    explicit Malloc(std::size_t /*bytes*/) {}

    void *allocate(std::size_t size) { return functions.allocate(size); }
    void free_one(void *object, std::size_t /*size*/) { functions.free(object); }
    void free_all() {}
    void *grow_last(void *object, std::size_t /*size*/, std::size_t larger) {
        return functions.reallocate(object, larger);
    }
};

void load(const bench::Loaded &library) {
    Functions functions{};
    bench::find(library, "malloc", functions.allocate);
    bench::find(library, "free", functions.free);
    bench::find(library, "realloc", functions.reallocate);
    if (functions.allocate != nullptr) bench::take_slot<Malloc>(library.name, functions);
}

const bool known = [] {
    bench::loaders().push_back(load);
    bench::take_slot<Malloc>("glibc", Functions{std::malloc, std::free, std::realloc});
    return true;
}();

} // namespace
