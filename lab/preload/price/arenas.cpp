// libreap-price-arenas.so: glibc's malloc with an arena for each thread, whatever the program or its
// environment limits. It defines no malloc.
#include <climits>
#include <malloc.h>

#include "next.h"

using namespace reap::preload;

namespace {

REAP_NEXT(real_mallopt, "mallopt", decltype(mallopt));

[[gnu::constructor]] void start() { real_mallopt(M_ARENA_MAX, INT_MAX); }

} // namespace

REAP_EXPORT int mallopt(int parameter, int value) {
    if (parameter == M_ARENA_MAX || parameter == M_ARENA_TEST) return 1;
    return real_mallopt(parameter, value);
}
