#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "reap/layer/region.h"

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

struct Path {
    std::string_view name;
    void (*run)(std::uint64_t turns);
};

constexpr Path paths[] = {
    {"region-allocate", region_allocate},
    {"region-grow-last", region_grow_last},
    {"region-create-10-destroy", region_create_10_destroy},
};

} // namespace

int main(int argc, char **argv) {
    for (const Path &path : paths) {
        if (argc != 3 || argv[1] != path.name) continue;
        path.run(std::strtoull(argv[2], nullptr, 10));
        return 0;
    }
    std::fprintf(stderr, "usage: library-hot-paths PATH TURNS; the paths are");
    for (const Path &path : paths) std::fprintf(stderr, " %s", path.name.data());
    std::fprintf(stderr, "\n");
    return 2;
}
