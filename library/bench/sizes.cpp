#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string_view>

#include "reap/layer/reap.h"
#include "reap/layer/region.h"

// Objects of one size in a plain loop, each size by itself: where a layer costs much more than the next size
// does, or more than a region. Nothing but the first word of an object is written, so that the allocator is
// what is measured.
//
//   bench-sizes LAYER WAY SIZE TURNS
//
// LAYER: region, reap, sized-reap, malloc. WAY: allocate (256 KB of objects, then all freed together and the
// memory kept), end (the same in a layer of its own, which ends), replace (the oldest of 64 objects is freed,
// and one allocated). Prints the CPU time of an allocation in ns: the minimum of ten rounds of TURNS
// allocations each.

namespace {

constexpr std::size_t batch_bytes = std::size_t{256} << 10;
constexpr std::size_t lives = 64;
constexpr int rounds = 10;

double cpu_ns() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

void write(void *object, std::size_t value) { *static_cast<volatile std::size_t *>(object) = value; }

/// malloc of whatever library the process has: what it allocates is freed one by one.
class Malloc {
  public:
    Malloc() = default;
    Malloc(const Malloc &) = delete;
    Malloc &operator=(const Malloc &) = delete;
    ~Malloc() { reset(); }
    /// Those of `replace` are all freed by then; their slots are used in turn.
    void *allocate(std::size_t size) { return objects_[count_++] = std::malloc(size); }
    void deallocate(void *object) {
        std::free(object);
        count_ = 0;
    }
    void reset() {
        while (count_ > 0) std::free(objects_[--count_]);
    }

  private:
    std::unique_ptr<void *[]> objects_ = std::make_unique<void *[]>(batch_bytes / 8);
    std::size_t count_ = 0;
};

template <class Layer>
void fill(Layer &layer, std::size_t size, std::size_t count) {
    for (std::size_t number = 0; number < count; ++number) write(layer.allocate(size), number);
}

template <class Layer>
void allocate(std::size_t size, std::size_t turns) {
    Layer layer;
    const std::size_t batch = batch_bytes / size;
    for (std::size_t turn = 0; turn < turns; turn += batch) {
        fill(layer, size, batch);
        layer.reset();
    }
}

template <class Layer>
void end(std::size_t size, std::size_t turns) {
    const std::size_t batch = batch_bytes / size;
    for (std::size_t turn = 0; turn < turns; turn += batch) {
        Layer layer;
        fill(layer, size, batch);
    }
}

template <class Layer>
void free_one(Layer &layer, void *object, std::size_t size) {
    if constexpr (requires { layer.deallocate(object); })
        layer.deallocate(object);
    else
        layer.deallocate(object, size);
}

template <class Layer>
void replace(std::size_t size, std::size_t turns) {
    Layer layer;
    void *objects[lives];
    for (void *&object : objects) object = layer.allocate(size);
    for (std::size_t turn = 0; turn < turns; ++turn) {
        void *&object = objects[turn % lives];
        free_one(layer, object, size);
        object = layer.allocate(size);
        write(object, turn);
    }
    for (void *const object : objects) free_one(layer, object, size);
}

template <class Layer>
int measure(std::string_view way, std::size_t size, std::size_t turns) {
    void (*const run)(std::size_t, std::size_t) = way == "allocate"  ? allocate<Layer>
                                                  : way == "end"     ? end<Layer>
                                                  : way == "replace" ? replace<Layer>
                                                                     : nullptr;
    if (run == nullptr) {
        std::fprintf(stderr, "bench-sizes: the ways are allocate, end and replace\n");
        return 2;
    }
    double least = 0;
    for (int round = 0; round < rounds; ++round) {
        const double begun = cpu_ns();
        run(size, turns);
        const double took = cpu_ns() - begun;
        if (round == 0 || took < least) least = took;
    }
    std::printf("%.2f\n", least / static_cast<double>(turns));
    return 0;
}

} // namespace

int main(int argc, char **argv) {
    if (argc == 5) {
        const std::string_view layer = argv[1];
        const std::string_view way = argv[2];
        const std::size_t size = std::strtoull(argv[3], nullptr, 10);
        const std::size_t turns = std::strtoull(argv[4], nullptr, 10);
        if (size < sizeof(std::size_t) || size > batch_bytes) {
            std::fprintf(stderr, "bench-sizes: a size is 8 to 262144 bytes\n");
            return 2;
        }
        if (layer == "region" && way != "replace") return measure<reap::Region<>>(way, size, turns);
        if (layer == "reap") return measure<reap::Reap<>>(way, size, turns);
        if (layer == "sized-reap") return measure<reap::SizedReap<>>(way, size, turns);
        if (layer == "malloc") return measure<Malloc>(way, size, turns);
    }
    std::fprintf(stderr,
                 "usage: bench-sizes region|reap|sized-reap|malloc allocate|end|replace SIZE TURNS\n");
    return 2;
}
