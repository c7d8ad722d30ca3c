#include "heaps.h"

#include <cstdlib>
#include <cstring>

#include "memory_view.h"

namespace reap::glibc {
namespace {

constexpr int attempts = 3; // since the program runs meanwhile
constexpr uint64_t most_arenas = 65536;
constexpr uint64_t most_heaps = 65536; // of one arena
constexpr uint64_t worth_marking = uint64_t{64} << 10;
constexpr uint64_t smallest = 32; // chunk

// The minor version of a C library "2.minor"; 0 for another.
unsigned minor_of(const char *version) noexcept {
    if (strncmp(version, "2.", 2) != 0) return 0;
    return static_cast<unsigned>(strtoul(version + 2, nullptr, 10));
}

} // namespace

void Heaps::start(const char *version, uint64_t data_begin, uint64_t data_end, uint64_t begin) noexcept {
    minor_ = minor_of(version);
    caches_ = ThreadCaches(minor_);
    arenas_.look_in(data_begin, data_end);
    begin_ = begin;
}

bool Heaps::walk(uint64_t arena_bytes, uint64_t fast_bytes, const int &ending, Found &found) noexcept {
    found = {};
    caches_.restart();
    const bool known = arenas_.find();
    if (known && fast_bytes >= worth_marking) find_fast_chunks(arena_bytes, fast_bytes, found);
    bool whole = walk_main(found);
    if (known && whole) {
        const bool all = for_each_other_arena([&](uint64_t arena) noexcept {
            whole = __atomic_load_n(&ending, __ATOMIC_RELAXED) == 0;
            if (whole) walk_others(arena, found);
            return whole;
        });
        found.around.known = all ? 1 : 0;
    }
    found.around.caches = known && caches_.known() ? caches_.caches() : REAP_RESIDENT_UNKNOWN;
    found.around.cached = caches_.bytes();
    fast_.clear();
    return whole;
}

template <class Take>
bool Heaps::for_each_other_arena(Take take) const noexcept {
    uint64_t arena = arenas_.next(arenas_.main());
    for (uint64_t i = 0; i < most_arenas && arena != 0 && arena != arenas_.main(); ++i) {
        if (!take(arena)) return false;
        arena = arenas_.next(arena);
    }
    return arena == arenas_.main();
}

template <class Take>
void Heaps::for_each_heap(Take take) const noexcept {
    for_each_other_arena([this, &take](uint64_t arena) noexcept {
        Heap heap;
        bool valid = false;
        bool more = arenas_.last_heap(arena, heap, valid);
        for (uint64_t j = 0; j < most_heaps && more; ++j) {
            take(heap);
            more = arenas_.heap_before(arena, heap, valid);
        }
        return true;
    });
}

uint64_t Heaps::system_bytes() noexcept {
    if (!arenas_.find()) return 0;
    uint64_t sum = arenas_.system_bytes(arenas_.main());
    for_each_other_arena([this, &sum](uint64_t arena) noexcept {
        sum += arenas_.system_bytes(arena);
        return true;
    });
    return sum;
}

uint64_t Heaps::resident() noexcept {
    static constinit Residency residency;
    uint64_t sum = 0;
    const auto add = [&sum](const Heap &heap) noexcept {
        residency.restart(heap.end);
        sum += residency.bytes(heap.begin, heap.end);
    };
    add(main_heap(begin_, current_break()));
    if (arenas_.find()) for_each_heap(add);
    return sum;
}

void Heaps::find_fast_chunks(uint64_t arena_bytes, uint64_t fast_bytes, Found &found) noexcept {
    uint64_t heaps = 0;
    for_each_heap([&heaps](const Heap &) noexcept { ++heaps; });
    if (!fast_.reserve(arena_bytes, heaps)) return;
    const uint64_t most = fast_bytes / smallest + 1;
    const auto add = [&](uint64_t arena) noexcept {
        found.around.fast += arenas_.add_fast_chunks(arena, minor_ >= 32, most, fast_);
        return found.around.fast < fast_bytes;
    };
    if (add(arenas_.main())) for_each_other_arena(add);
}

bool Heaps::walk_main(Found &found) noexcept {
    bool whole = false;
    for (int i = 0; i < attempts && !whole; ++i) {
        whole = try_walk(main_heap(begin_, current_break()), found.main);
    }
    return whole;
}

void Heaps::walk_others(uint64_t arena, Found &found) noexcept {
    Heap heap;
    bool valid = false;
    bool more = arenas_.last_heap(arena, heap, valid);
    uint64_t described = 0;
    for (uint64_t i = 0; i < most_heaps && more; ++i) {
        reap_resident_walk one{};
        bool whole = false;
        ++found.around.heaps;
        for (int attempt = 0; attempt < attempts && !whole; ++attempt) {
            // The top of a heap in use has moved since.
            if (attempt != 0 && heap.has_top && !arenas_.last_heap(arena, heap, valid)) break;
            whole = try_walk(heap, one);
        }
        described += heap.end - heap.begin;
        if (whole) {
            add_walk(found.others, one);
        } else {
            static constinit Residency residency;
            residency.restart(heap.end);
            found.around.unread += heap.end - heap.begin;
            found.around.unread_resident += residency.bytes(heap.begin, heap.end);
        }
        more = arenas_.heap_before(arena, heap, valid);
    }
    const uint64_t all = arenas_.system_bytes(arena);
    if (!valid && all > described) found.around.unread += all - described;
}

bool Heaps::try_walk(const Heap &heap, reap_resident_walk &walk) noexcept {
    const ThreadCaches before = caches_;
    if (walk_heap(heap, fast_, caches_, walk)) return true;
    caches_ = before;
    return false;
}

} // namespace reap::glibc
