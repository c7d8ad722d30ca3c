// Nothing but blocks of one size, all in use at once, each with the address of the one before:
//
//     blocks SIZE COUNT [pool]
//
// or, with the third word, as many objects of a pool in one block.
#include <stdlib.h>
#include <string.h>
#include <valgrind/valgrind.h>

static void fill_pool(size_t size, size_t count) {
    char *chunk = malloc(size * count);
    VALGRIND_CREATE_MEMPOOL(chunk, 0, 0);
    for (char *at = chunk; at < chunk + size * count; at += size) {
        VALGRIND_MEMPOOL_ALLOC(chunk, at, size);
        memset(at, 1, size);
    }
    VALGRIND_DESTROY_MEMPOOL(chunk);
    free(chunk);
}

int main(int words, char **word) {
    if (words < 3) return 2;
    const size_t size = strtoul(word[1], 0, 10), count = strtoul(word[2], 0, 10);
    if (words > 3) {
        fill_pool(size, count);
        return 0;
    }
    void **last = 0;
    for (size_t i = 0; i < count; ++i) {
        void **block = malloc(size);
        memset(block, 1, size);
        *block = last;
        last = block;
    }
    while (last) {
        void **before = *last;
        free(last);
        last = before;
    }
    return 0;
}
