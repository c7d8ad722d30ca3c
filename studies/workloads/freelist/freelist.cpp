// Only allocation: builds and frees lists of a hundred thousand objects of 16 bytes, by a freelist linked
// through the freed objects. It bounds what a per-class allocator can save (section 4.3 of ISMM 2026).
//
// Naive: malloc and free. Scale: millions of objects.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>

#include <reap/layer/per_class.h>

#include "common/workload.h"

namespace {

struct Object {
    std::uint64_t number;
    Object *other;
};
static_assert(sizeof(Object) == 16);

constexpr std::size_t batch = 100000; // objects live at once

template <class Make, class End>
std::uint64_t run(std::size_t objects, Make make, End end) {
    std::uint64_t sum = 0;
    for (std::size_t made = 0; made < objects; made += batch) {
        Object *list = nullptr;
        for (std::size_t n = 0; n < batch; ++n) list = make(made + n, list);
        while (list != nullptr) {
            Object *const next = list->other;
            sum = sum * 3 + list->number;
            end(list);
            list = next;
        }
    }
    return sum;
}

} // namespace

int main(int count, char **words) {
    workload::Options options{.scale = 100};
    if (!workload::read(count, words, options)) return 2;
    const std::size_t objects = options.scale * 1000000;
    workload::Checksum checksum;
    if (options.naive) {
        const auto make = [](std::uint64_t number, Object *other) {
            void *const place = std::malloc(sizeof(Object));
            if (place == nullptr) std::abort();
            return ::new (place) Object{number, other};
        };
        checksum.add(run(objects, make, [](Object *object) { std::free(object); }));
    } else {
        reap::PerClass<Object> pool;
        const auto make = [&pool](std::uint64_t number, Object *other) { return pool.create(number, other); };
        checksum.add(run(objects, make, [&pool](Object *object) { pool.destroy(object); }));
    }
    std::printf("%zu objects\n", objects);
    workload::print(checksum);
    return 0;
}
