/* emulated.c: in place of lcc's alloc.c, the region emulator of OOPSLA 2002 (section 3.1). Each object is a
   malloc, and freed where its arena is emptied. The pointers are kept outside the objects, so that the last
   access to an object is the compiler's: upstream's PURIFY reads each object as it frees it. */
#include "c.h"

static struct {
    void **objects;
    size_t count, space;
} arena[3];

void *allocate(unsigned long n, unsigned a) {
    assert(a < NELEMS(arena));
    if (arena[a].count == arena[a].space) {
        arena[a].space = 2 * arena[a].space + 1024;
        arena[a].objects = realloc(arena[a].objects, arena[a].space * sizeof *arena[a].objects);
    }
    void *made = malloc(n);
    if (arena[a].objects == NULL || made == NULL) {
        error("insufficient memory\n");
        exit(1);
    }
    return arena[a].objects[arena[a].count++] = made;
}

void *newarray(unsigned long m, unsigned long n, unsigned a) { return allocate(m * n, a); }

void deallocate(unsigned a) {
    assert(a < NELEMS(arena));
    while (arena[a].count > 0) free(arena[a].objects[--arena[a].count]);
}
