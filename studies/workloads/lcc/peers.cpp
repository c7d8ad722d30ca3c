// In place of lcc's alloc.c: each of its three arenas is an AREA, which is one of peers.h.
#include "common/peers/peers.h"

namespace {

AREA arenas[3];

void *allocate_in(unsigned long size, unsigned arena) {
    void *made = arenas[arena].allocate(size);
    if (made == nullptr) std::abort();
    return made;
}

} // namespace

// As c.h declares them, which is no C++.
extern "C" {
void *allocate(unsigned long size, unsigned arena) { return allocate_in(size, arena); }
void *newarray(unsigned long count, unsigned long size, unsigned arena) {
    return allocate_in(count * size, arena);
}
void deallocate(unsigned arena) { arenas[arena].reset(); }
}
