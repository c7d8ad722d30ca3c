/* malloc-loop N [SIZE]: N times malloc(SIZE) and free, and nothing else. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: %s N [SIZE]\n", argv[0]);
        return 2;
    }
    const long turns = strtol(argv[1], NULL, 10);
    const size_t size = argc > 2 ? strtoul(argv[2], NULL, 10) : 64;
    for (long i = 0; i < turns; ++i) {
        void *block = malloc(size);
        if (block == NULL) return 1;
        free(block);
    }
    return 0;
}
