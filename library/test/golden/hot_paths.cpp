#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "reap/interpose/scope.h"
#include "reap/layer/fixed_block.h"
#include "reap/layer/mempool.h"
#include "reap/layer/obstack.h"
#include "reap/layer/per_class.h"
#include "reap/layer/per_thread.h"
#include "reap/layer/per_thread_reap.h"
#include "reap/layer/reap.h"
#include "reap/layer/region.h"
#include "reap/layer/size_class_allocator.h"
#include "reap/layer/stack_like.h"
#include "reap/mark.h"
#include "reap/source/arena.h"

// N turns of one hot path, for callgrind to count (setup/golden). What a turn allocates is written to, so
// that no compiler can do without it.

namespace {

/// Sizes that the compiler does not know: 32 for all it is told.
volatile std::size_t told_size = 32;

void write(void *object, std::uint64_t value) { *static_cast<volatile std::uint64_t *>(object) = value; }

void region_allocate(std::uint64_t turns) {
    reap::Region<> region;
    const std::size_t size = told_size;
    for (std::uint64_t turn = 0; turn < turns; ++turn) write(region.allocate(size), turn);
}

void region_grow_last(std::uint64_t turns) {
    reap::Region<> region;
    const std::size_t step = told_size;
    for (std::uint64_t turn = 0; turn < turns; ++turn) {
        void *const object = region.allocate(step);
        if (!region.resize(object, step, 2 * step)) std::abort();
        write(object, turn);
        region.reset();
    }
}

void region_create_10_destroy(std::uint64_t turns) {
    const std::size_t size = told_size;
    for (std::uint64_t turn = 0; turn < turns; ++turn) {
        reap::Region<> region;
        for (int number = 0; number < 10; ++number) write(region.allocate(size), turn);
    }
}

template <class Reap>
void reap_allocate(std::uint64_t turns) {
    Reap reap;
    const std::size_t size = told_size;
    for (std::uint64_t turn = 0; turn < turns; ++turn) write(reap.allocate(size), turn);
}

void reap_create(std::uint64_t turns) {
    reap::Reap<> reap;
    for (std::uint64_t turn = 0; turn < turns; ++turn) write(reap.create<std::uint64_t>(turn), turn);
}

/// From the bins: one object stays behind each, so that no free is that of the last.
template <class Reap = reap::Reap<>, class Free>
void reap_allocate_free(std::uint64_t turns, Free free) {
    Reap reap;
    const std::size_t size = told_size;
    void *objects[64];
    for (auto &object : objects) object = reap.allocate(size);
    for (std::uint64_t turn = 0; turn < turns; ++turn) {
        void *&object = objects[turn % 64];
        free(reap, object, size);
        object = reap.allocate(size);
        write(object, turn);
    }
}
void reap_free_unsized(std::uint64_t turns) {
    reap_allocate_free(turns, [](auto &reap, void *object, std::size_t) { reap.deallocate(object); });
}
template <class Reap>
void reap_free_sized(std::uint64_t turns) {
    reap_allocate_free<Reap>(
        turns, [](auto &reap, void *object, std::size_t size) { reap.deallocate(object, size); });
}

void reap_per_thread(std::uint64_t turns) {
    using Reaps = reap::PerThreadReap<>;
    reap_allocate_free<Reaps>(turns, [](auto &, void *object, std::size_t) { Reaps::deallocate(object); });
}

/// Of the program's own allocator: the one that is preloaded.
void malloc_free(std::uint64_t turns) {
    const std::size_t size = told_size;
    void *objects[64];
    for (auto &object : objects) object = std::malloc(size);
    for (std::uint64_t turn = 0; turn < turns; ++turn) {
        void *&object = objects[turn * 7 % 64];
        std::free(object);
        object = std::malloc(size);
        write(object, turn);
    }
    for (void *object : objects) std::free(object);
}

/// The same, 64 objects in a scope.
void malloc_in_scope(std::uint64_t turns) {
    const std::size_t size = told_size;
    void *objects[64];
    for (std::uint64_t turn = 0; turn < turns; turn += 64) {
        const reap::Scope scope;
        for (auto &object : objects) {
            object = std::malloc(size);
            write(object, turn);
        }
        for (void *object : objects) std::free(object);
    }
}

/// As if another thread freed: one after another it is nobody's.
void reap_free_elsewhere(std::uint64_t turns) {
    using Reap = reap::OwnedReap<>;
    Reap reap;
    const std::size_t size = told_size;
    void *objects[64];
    for (auto &object : objects) object = reap.allocate(size);
    for (std::uint64_t turn = 0; turn < turns; ++turn) {
        void *&object = objects[turn % 64];
        if (turn % 64 == 0) {
            reap.release();
            for (void *each : objects) Reap::deallocate(each);
            if (!reap.take_over()) std::abort();
        }
        object = reap.allocate(size);
        write(object, turn);
    }
}

template <class Reap>
void reap_create_10_destroy(std::uint64_t turns) {
    const std::size_t size = told_size;
    for (std::uint64_t turn = 0; turn < turns; ++turn) {
        Reap reap;
        for (int number = 0; number < 10; ++number) write(reap.allocate(size), turn);
    }
}

/// A freed block is the next to be allocated: the common case of pools.
template <class Pool>
void allocate_and_free(Pool &pool, std::uint64_t turns) {
    for (std::uint64_t turn = 0; turn < turns; ++turn) {
        auto *const object = pool.allocate();
        write(object, turn);
        // Or the compiler takes a block that is allocated and freed for nothing at all.
        asm volatile("" : : "r"(&pool) : "memory");
        pool.deallocate(object);
        asm volatile("" : : "r"(&pool) : "memory");
    }
}

void fixed_block_allocate_free(std::uint64_t turns) {
    reap::FixedBlock<> pool(64);
    allocate_and_free(pool, turns);
}

void fixed_block_allocate_fresh(std::uint64_t turns) {
    reap::FixedBlock<> pool(64);
    for (std::uint64_t turn = 0; turn < turns; ++turn) write(pool.allocate(), turn);
}

void fixed_block_per_thread(std::uint64_t turns) {
    reap::PerThread<reap::FixedBlock<>> pool(64);
    allocate_and_free(pool, turns);
}

void per_class_allocate_free(std::uint64_t turns) {
    struct Object {
        std::uint64_t words[4];
    };
    reap::PerClass<Object> pool;
    allocate_and_free(pool, turns);
}

void mempool_allocate_free(std::uint64_t turns) {
    struct Object {
        std::uint64_t words[4];
    };
    reap::Mempool<Object> pool;
    allocate_and_free(pool, turns);
}

void size_class_allocate_free(std::uint64_t turns) {
    reap::SizeClassAllocator<> pool;
    const std::size_t size = told_size;
    for (std::uint64_t turn = 0; turn < turns; ++turn) {
        void *const object = pool.allocate(size);
        write(object, turn);
        pool.deallocate(object, size);
    }
}

void obstack_allocate_free_from(std::uint64_t turns) {
    reap::Obstack<> stack;
    const std::size_t size = told_size;
    for (std::uint64_t turn = 0; turn < turns; ++turn) {
        void *const object = stack.allocate(size);
        write(object, turn);
        if (!stack.free_from(object)) std::abort();
    }
}

void obstack_push(std::uint64_t turns) {
    reap::Obstack<> stack;
    for (std::uint64_t turn = 0; turn < turns; ++turn) stack.push(static_cast<std::byte>(turn));
}

void stack_like_allocate_free(std::uint64_t turns) {
    reap::StackLike<> stack;
    const std::size_t size = told_size;
    for (std::uint64_t turn = 0; turn < turns; ++turn) {
        void *const object = stack.allocate(size);
        write(object, turn);
        stack.deallocate(object);
    }
}

void arena_alloc_page(std::uint64_t turns) {
    reap::Arena<> arena(turns * 4096);
    for (std::uint64_t turn = 0; turn < turns; ++turn) write(arena.alloc_page(), turn);
}

/// Nobody listens.
void mark_request(std::uint64_t turns) {
    for (std::uint64_t turn = 0; turn < turns; ++turn) {
        reap_mark_request_begin();
        reap_mark_request_end();
    }
}

struct Path {
    std::string_view name;
    void (*run)(std::uint64_t turns);
};

constexpr Path paths[] = {
    {"region-allocate", region_allocate},
    {"region-grow-last", region_grow_last},
    {"region-create-10-destroy", region_create_10_destroy},
    {"reap-allocate", reap_allocate<reap::Reap<>>},
    {"reap-create", reap_create},
    {"reap-free-unsized", reap_free_unsized},
    {"reap-free-sized", reap_free_sized<reap::Reap<>>},
    {"reap-per-thread", reap_per_thread},
    {"reap-free-elsewhere", reap_free_elsewhere},
    {"malloc-free", malloc_free},
    {"malloc-in-scope", malloc_in_scope},
    {"reap-create-10-destroy", reap_create_10_destroy<reap::Reap<>>},
    {"sized-reap-allocate", reap_allocate<reap::SizedReap<>>},
    {"sized-reap-free", reap_free_sized<reap::SizedReap<>>},
    {"sized-reap-create-10-destroy", reap_create_10_destroy<reap::SizedReap<>>},
    {"fixed-block-allocate-free", fixed_block_allocate_free},
    {"fixed-block-allocate-fresh", fixed_block_allocate_fresh},
    {"fixed-block-per-thread", fixed_block_per_thread},
    {"size-class-allocate-free", size_class_allocate_free},
    {"per-class-allocate-free", per_class_allocate_free},
    {"mempool-allocate-free", mempool_allocate_free},
    {"obstack-allocate-free-from", obstack_allocate_free_from},
    {"obstack-push", obstack_push},
    {"stack-like-allocate-free", stack_like_allocate_free},
    {"arena-alloc-page", arena_alloc_page},
    {"mark-request", mark_request},
};

} // namespace

int main(int argc, char **argv) {
    for (const Path &path : paths) {
        if (argc != 3 || argv[1] != path.name) continue;
        path.run(std::strtoull(argv[2], nullptr, 10));
        return 0;
    }
    std::fprintf(stderr, "usage: library-hot-paths PATH TURNS; the paths are");
    for (const Path &path : paths)
        std::fprintf(stderr, " %.*s", static_cast<int>(path.name.size()), path.name.data());
    std::fprintf(stderr, "\n");
    return 2;
}
