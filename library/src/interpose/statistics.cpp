// What malloc.h has beside the allocation functions: to ask what is held, and to give memory back. Figures
// are of the process as far as they can be had without stopping its threads: what is free inside another
// thread's heap is counted as in use.
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <malloc.h>

#include "reap/interpose/statistics.h"
#include "served.h"

using reap::interpose::HeapStatistics;

#pragma GCC visibility push(default)
extern "C" {

int malloc_trim(std::size_t /*pad*/) noexcept { return Served::trim() ? 1 : 0; }

// Nothing here can be set. 0 is what mallopt() says of a parameter that it does not know.
int mallopt(int /*parameter*/, int /*value*/) noexcept { return 0; }

struct mallinfo2 mallinfo2() noexcept {
    const HeapStatistics now = Served::statistics();
    struct mallinfo2 told = {};
    told.arena = now.chunks;
    told.hblkhd = now.large;
    told.fordblks = now.mine_freed + now.kept;
    told.uordblks = now.chunks + now.large - told.fordblks;
    told.keepcost = now.kept;
    return told;
}

// The same in int, as far as that goes.
struct mallinfo mallinfo() noexcept {
    const struct mallinfo2 wide = mallinfo2();
    const auto narrow = [](std::size_t value) { return value > INT_MAX ? INT_MAX : static_cast<int>(value); };
    struct mallinfo told = {};
    told.arena = narrow(wide.arena);
    told.hblkhd = narrow(wide.hblkhd);
    told.uordblks = narrow(wide.uordblks);
    told.fordblks = narrow(wide.fordblks);
    told.keepcost = narrow(wide.keepcost);
    return told;
}

void malloc_stats() noexcept {
    const HeapStatistics now = Served::statistics();
    std::fprintf(stderr,
                 "%s: %zu bytes in chunks, %zu in large objects (%zu of them kept), "
                 "%zu heaps (%zu idle); this thread holds %zu bytes, %zu of them freed\n",
                 Served::library, now.chunks, now.large, now.kept, now.heaps, now.idle, now.mine,
                 now.mine_freed);
}

int malloc_info(int options, FILE *stream) noexcept {
    if (options != 0) {
        errno = EINVAL;
        return -1;
    }
    const HeapStatistics now = Served::statistics();
    const int written = std::fprintf(stream,
                                     "<malloc version=\"reap-1\">\n<heaps count=\"%zu\" idle=\"%zu\"/>\n"
                                     "<system type=\"chunks\" size=\"%zu\"/>\n<system type=\"large\" "
                                     "size=\"%zu\" kept=\"%zu\"/>\n</malloc>\n",
                                     now.heaps, now.idle, now.chunks, now.large, now.kept);
    return written < 0 ? -1 : 0;
}
}
#pragma GCC visibility pop
