/* emulated.c: in place of mudlle's calloc.c, the region emulator of OOPSLA 2002 (section 3.1). Each object is
   a malloc, and freed where its block is. The pointers are kept outside the objects, so that the last access
   to an object is the compiler's: upstream's chain of blocks is read as they are freed.

   No shell may start what drag is measured of, so the program enters its folder and opens its input itself.
 */
#include "mudlle-config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "calloc.h"
#include "utils.h"

struct alloc_block {
    void **objects;
    size_t count, space;
};

struct alloc_block *new_block(void) {
    struct alloc_block *made = xmalloc(sizeof *made);
    *made = (struct alloc_block){NULL, 0, 0};
    return made;
}

void *allocate(struct alloc_block *block, unsigned long size) {
    if (size == 0) return NULL;
    if (block->count == block->space) {
        block->space = 2 * block->space + 64;
        block->objects = xrealloc(block->objects, block->space * sizeof *block->objects);
    }
    return block->objects[block->count++] = xmalloc(size);
}

void free_block(struct alloc_block *block) {
    while (block->count > 0) free(block->objects[--block->count]);
    free(block->objects);
    free(block);
}

const char *heap_allocate_string(struct alloc_block *heap, const char *text) {
    size_t size = strlen(text) + 1;
    return memcpy(allocate(heap, size), text, size);
}

__attribute__((constructor)) static void enter(void) {
    const char *folder = getenv("MUDLLE_FOLDER"), *script = getenv("MUDLLE_SCRIPT");
    if (folder == NULL || script == NULL || chdir(folder) != 0 || freopen(script, "r", stdin) == NULL) {
        fputs("mudlle-emulated: MUDLLE_FOLDER and MUDLLE_SCRIPT must name its folder and its input\n",
              stderr);
        exit(2);
    }
}
