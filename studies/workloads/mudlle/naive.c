/* naive.c: in place of mudlle's calloc.c, each object a malloc, as ISMM 2026 has it (mudlle.patch of its
   artefact): blocks of one object, which need neither the place of the next object nor an end. */
#include "mudlle-config.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "calloc.h"
#include "utils.h"

struct memblock {
    struct memblock *previous;
    char data[];
};

struct alloc_block {
    struct memblock *memblock;
};

static void *add(struct alloc_block *block, size_t size) {
    struct memblock *made = xmalloc(sizeof *made + size);
    made->previous = block->memblock;
    block->memblock = made;
    return made->data;
}

struct alloc_block *new_block(void) {
    struct alloc_block *made = xmalloc(sizeof *made);
    made->memblock = NULL;
    add(made, 0);
    return made;
}

void *allocate(struct alloc_block *block, unsigned long size) {
    return size == 0 ? NULL : add(block, MUDLLE_ALIGN(size, sizeof(long)));
}

void free_block(struct alloc_block *block) {
    struct memblock *each = block->memblock;
    while (each != NULL) {
        struct memblock *before = each->previous;
        free(each);
        each = before;
    }
    free(block);
}

const char *heap_allocate_string(struct alloc_block *heap, const char *text) {
    size_t size = strlen(text) + 1;
    return memcpy(allocate(heap, size), text, size);
}
