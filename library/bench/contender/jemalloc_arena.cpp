#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include "slots.h"

// jemalloc's arenas made by hand, without a thread's cache: with one, reset leaves it dangling.

namespace {

struct Functions {
    int (*control)(const char *, void *, std::size_t *, void *, std::size_t);
    int (*name_to_mib)(const char *, std::size_t *, std::size_t *);
    int (*control_by_mib)(const std::size_t *, std::size_t, void *, std::size_t *, void *, std::size_t);
    void *(*allocate)(std::size_t, int flags);
    void *(*reallocate)(void *, std::size_t, int flags);
    void (*free)(void *, std::size_t, int flags);
};

// MALLOCX_ARENA and MALLOCX_TCACHE_NONE of its header, which is not there for a library that is only loaded.
int flags_of(unsigned arena) { return static_cast<int>(((arena + 1) << 20) | (1U << 8)); }

template <std::size_t Slot>
class JemallocArena {
  public:
    static constexpr bool frees_all = true;
    static constexpr std::size_t slots = 2;
    static inline Functions functions{};

    explicit JemallocArena(std::size_t /*bytes*/) {
        std::size_t size = sizeof arena_;
        check(functions.control("arenas.create", &arena_, &size, nullptr, 0), "arenas.create");
        flags_ = flags_of(arena_);
        mib_of("arena.0.reset", reset_);
        mib_of("arena.0.destroy", destroy_);
    }
    ~JemallocArena() {
        functions.control_by_mib(destroy_.data(), destroy_.size(), nullptr, nullptr, nullptr, 0);
    }
    JemallocArena(const JemallocArena &) = delete;
    JemallocArena &operator=(const JemallocArena &) = delete;

    void *allocate(std::size_t size) { return functions.allocate(size, flags_); }
    void free_one(void *object, std::size_t size) { functions.free(object, size, flags_); }
    void free_all() { functions.control_by_mib(reset_.data(), reset_.size(), nullptr, nullptr, nullptr, 0); }
    void *grow_last(void *object, std::size_t /*size*/, std::size_t larger) {
        return functions.reallocate(object, larger, flags_);
    }

  private:
    using Mib = std::array<std::size_t, 3>;

    static void check(int error, const char *what) {
        if (error == 0) return;
        std::fprintf(stderr, "bench: jemalloc refused %s (%d)\n", what, error);
        std::exit(1);
    }
    void mib_of(const char *name, Mib &mib) {
        std::size_t length = mib.size();
        check(functions.name_to_mib(name, mib.data(), &length), name);
        mib[1] = arena_;
    }

    unsigned arena_ = 0;
    int flags_ = 0;
    Mib reset_{};
    Mib destroy_{};
};

void load(const bench::Loaded &library) {
    Functions functions{};
    bench::find(library, "mallctl", functions.control);
    bench::find(library, "mallctlnametomib", functions.name_to_mib);
    bench::find(library, "mallctlbymib", functions.control_by_mib);
    bench::find(library, "mallocx", functions.allocate);
    bench::find(library, "rallocx", functions.reallocate);
    bench::find(library, "sdallocx", functions.free);
    if (functions.allocate != nullptr) bench::take_slot<JemallocArena>(library.name + " arena", functions);
}

const bool known = [] {
    bench::loaders().push_back(load);
    return true;
}();

} // namespace
