// What malloc.h has in addition to the allocation functions: queries of what is held, and returning memory.
// Figures are for the process, as far as they are available without stopping its threads: what is free inside
// another thread's heap is counted as in use.
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <malloc.h>

#include "reap/interpose/statistics.h"
#include "served.h"

using reap::interpose::HeapStatistics;

namespace {

/// False: this heap has no such setting.
template <class Heap>
[[maybe_unused]] bool set_trim_threshold(int value) noexcept {
    constexpr bool known = requires(std::size_t bytes) { Heap::set_trim_threshold(bytes); };
    if constexpr (known) Heap::set_trim_threshold(static_cast<std::size_t>(value));
    return known;
}

} // namespace

#pragma GCC visibility push(default)
extern "C" {

int malloc_trim(std::size_t /*pad*/) noexcept { return Served::trim() ? 1 : 0; }

#if defined(__GLIBC__) // others have neither settings nor figures
// 0 is mallopt()'s result for a parameter that it does not know, or a value that it rejects.
int mallopt(int parameter, int value) noexcept {
    return parameter == M_TRIM_THRESHOLD && value >= 0 && set_trim_threshold<Served>(value) ? 1 : 0;
}

// As glibc counts: large objects in use are in hblkhd only; the rest of what is held is in arena, which is
// uordblks and fordblks together. Cached large blocks correspond to glibc's free top.
struct mallinfo2 mallinfo2() noexcept {
    const HeapStatistics now = Served::statistics();
    struct mallinfo2 told = {};
    told.arena = now.chunks + now.kept;
    told.hblks = now.large_objects;
    told.hblkhd = now.large - now.kept;
    told.fordblks = now.freed() + now.kept;
    told.uordblks = told.arena - told.fordblks;
    told.keepcost = now.kept;
    return told;
}

// The same in int, saturated at INT_MAX.
struct mallinfo mallinfo() noexcept {
    const struct mallinfo2 wide = mallinfo2();
    const auto narrow = [](std::size_t value) { return value > INT_MAX ? INT_MAX : static_cast<int>(value); };
    struct mallinfo told = {};
    told.arena = narrow(wide.arena);
    told.hblks = narrow(wide.hblks);
    told.hblkhd = narrow(wide.hblkhd);
    told.uordblks = narrow(wide.uordblks);
    told.fordblks = narrow(wide.fordblks);
    told.keepcost = narrow(wide.keepcost);
    return told;
}

#endif

void malloc_stats() noexcept {
    const HeapStatistics now = Served::statistics();
    std::fprintf(stderr,
                 "%s: %zu bytes in chunks (%zu of them known to be free), %zu in %zu large objects, "
                 "%zu kept of freed ones, "
                 "%zu heaps (%zu idle); this thread holds %zu bytes, %zu of them freed\n",
                 Served::library, now.chunks, now.freed(), now.large - now.kept, now.large_objects, now.kept,
                 now.heaps, now.idle, now.mine, now.mine_freed);
}

// The elements that glibc has for a process, with figures as in mallinfo2(), and one of our own. There is
// none per heap: those of other threads cannot be inspected.
int malloc_info(int options, FILE *stream) noexcept {
    if (options != 0) {
        errno = EINVAL;
        return -1;
    }
    const HeapStatistics now = Served::statistics();
    const std::size_t held = now.chunks + now.kept;
    const int written = std::fprintf(stream,
                                     "<malloc version=\"reap-1\">\n"
                                     "<total type=\"rest\" size=\"%zu\"/>\n"
                                     "<total type=\"mmap\" count=\"%zu\" size=\"%zu\"/>\n"
                                     "<system type=\"current\" size=\"%zu\"/>\n"
                                     "<aspace type=\"total\" size=\"%zu\"/>\n"
                                     "<reap library=\"%s\" heaps=\"%zu\" idle=\"%zu\" chunks=\"%zu\" "
                                     "kept=\"%zu\"/>\n"
                                     "</malloc>\n",
                                     now.freed() + now.kept, now.large_objects, now.large - now.kept, held,
                                     held, Served::library, now.heaps, now.idle, now.chunks, now.kept);
    return written < 0 ? -1 : 0;
}
}
#pragma GCC visibility pop
